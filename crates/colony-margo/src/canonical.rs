//! JSON in canonical form (RFC 8785): one value, one sequence of bytes.
//!
//! Numbers are doubles there, so an integer beyond 2^53 loses precision.
//! Colony's own documents contain none.

use std::cmp::Ordering;

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
        Json::Number(number) => write_number(out, number),
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
    sorted.sort_by(|a, b| by_utf16(a.0, b.0));
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

/// For ASCII, the order of bytes is the order of UTF-16 units.
fn by_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c| matches!(c, '"' | '\\' | '\0'..='\u{1f}')) {
        out.push_str(&rest[..at]);
        // Every character that must be escaped is ASCII.
        write_escape(out, rest.as_bytes()[at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

fn write_escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        b'\t' => out.push_str("\\t"),
        b'\n' => out.push_str("\\n"),
        0x0c => out.push_str("\\f"),
        b'\r' => out.push_str("\\r"),
        _ => out.push_str(&format!("\\u{byte:04x}")),
    }
}

/// An integer that a double holds exactly is written as it is.
fn write_number(out: &mut String, number: &serde_json::Number) {
    const EXACT: u64 = 1 << 53;
    match number.as_i64().filter(|it| it.unsigned_abs() <= EXACT) {
        Some(integer) => out.push_str(&integer.to_string()),
        None => out.push_str(&es_number(number.as_f64().unwrap_or_default())),
    }
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

/// The shortest digits of a number and the position of its decimal point. If
/// two candidates are equally close, the even one counts; serde_json's writer
/// follows this rule and `format!` does not.
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
