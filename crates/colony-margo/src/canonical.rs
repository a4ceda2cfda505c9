//! JSON in canonical form (RFC 8785): one value, one sequence of bytes.
//!
//! Numbers are doubles there, so an integer beyond 2^53 loses precision. Our
//! own documents hold none.

use crate::Json;

/// Writes a value in canonical form.
pub fn to_vec(value: &Json) -> Vec<u8> {
    let mut out = String::new();
    write(&mut out, value);
    out.into_bytes()
}

fn write(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => out.push_str(&es_number(number.as_f64().unwrap_or_default())),
        Json::String(text) => write_text(out, text),
        Json::Array(items) => write_list(out, items),
        Json::Object(entries) => write_object(out, entries),
    }
}

fn write_list(out: &mut String, items: &[Json]) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// Keys are ordered by their UTF-16 units, not by their bytes.
fn write_object(out: &mut String, entries: &serde_json::Map<String, Json>) {
    let mut sorted: Vec<(&String, &Json)> = entries.iter().collect();
    sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    out.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(out, key);
        out.push(':');
        write(out, value);
    }
    out.push('}');
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// A number as ECMAScript writes it: the shortest digits that read back as
/// the same double, with an exponent from 1e21 on and below 1e-6.
fn es_number(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let (digits, point) = shortest(number.abs());
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", place(&digits, point))
}

/// The shortest digits of a number and the place of its decimal point. Of two
/// that are equally close the even one counts, which serde_json's writer
/// obeys and `format!` does not.
fn shortest(number: f64) -> (String, i32) {
    let text = Json::from(number).to_string();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = (all.len() - digits.len()) as i32;
    let point = exponent.parse::<i32>().unwrap_or_default() + whole.len() as i32 - leading;
    (digits.trim_end_matches('0').to_owned(), point)
}

/// Puts the decimal point `point` places after the start of the digits.
fn place(digits: &str, point: i32) -> String {
    let length = digits.len() as i32;
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    if length <= point && point <= 21 {
        return format!("{digits}{}", zeros(point - length));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point as usize);
        return format!("{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{first}{dot}{rest}e{:+}", point - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_by_utf16() {
        let value = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        let order = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        check(value, order);
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        check(
            json!([333333333.3333333, 1e30, 4.50, 2e-3, 0.000000000000000000000000001]),
            "[333333333.3333333,1e+30,4.5,0.002,1e-27]",
        );
        for (bits, expected) in [
            (0x0000000000000000, "0"),
            (0x8000000000000000, "0"),
            (0x0000000000000001, "5e-324"),
            (0x8000000000000001, "-5e-324"),
            (0x7fefffffffffffff, "1.7976931348623157e+308"),
            (0xffefffffffffffff, "-1.7976931348623157e+308"),
            (0x4340000000000000, "9007199254740992"),
            (0xc340000000000000, "-9007199254740992"),
            (0x4430000000000000, "295147905179352830000"),
            (0x44b52d02c7e14af5, "9.999999999999997e+22"),
            (0x44b52d02c7e14af6, "1e+23"),
            (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
            (0x444b1ae4d6e2ef4e, "999999999999999700000"),
            (0x444b1ae4d6e2ef4f, "999999999999999900000"),
            (0x444b1ae4d6e2ef50, "1e+21"),
            (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
            (0x3eb0c6f7a0b5ed8d, "0.000001"),
            (0x41b3de4355555553, "333333333.3333332"),
            (0x41b3de4355555557, "333333333.33333343"),
            (0xbecbf647612f3696, "-0.0000033333333333333333"),
            (0x43143ff3c1cb0959, "1424953923781206.2"),
        ] {
            assert_eq!(es_number(f64::from_bits(bits)), expected);
        }
    }

    #[test]
    fn texts_are_escaped_only_where_they_must_be() {
        check(
            json!("\u{20ac}$\u{f}\u{a}A'B\"\\\\\"/"),
            "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"",
        );
        check(json!({"a": [null, true, false], "b": {}}), r#"{"a":[null,true,false],"b":{}}"#);
    }

    #[track_caller]
    fn check(value: Json, expected: &str) {
        assert_eq!(String::from_utf8(to_vec(&value)).unwrap(), expected);
    }
}
