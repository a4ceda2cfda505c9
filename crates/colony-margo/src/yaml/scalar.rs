//! The meaning of a plain scalar: the YAML 1.2 core schema.
//!
//! Only `true` and `false` are booleans; `yes`, `no`, `on` and `off` are texts.

use std::time::Duration;

use serde_json::Number;

use crate::Json;

/// Whether a plain scalar is null.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The boolean value of a plain scalar.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The number in a plain scalar. An integer too large for 64 bits becomes the
/// nearest double.
pub(super) fn number(text: &str) -> Option<Number> {
    if let Some(hex) = text.strip_prefix("0x") {
        return radix(hex, 16);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return radix(octal, 8);
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    if is_integer(text) {
        let unsigned = digits.parse::<u64>().ok().map(Number::from);
        let integer = unsigned.or_else(|| digits.parse::<i64>().ok().map(Number::from));
        return integer.or_else(|| Number::from_f64(digits.parse().ok()?));
    }
    if is_float(text) { Number::from_f64(digits.parse().ok()?) } else { None }
}

/// The JSON value of a plain scalar.
pub(super) fn resolve(text: &str) -> Json {
    if is_null(text) {
        return Json::Null;
    }
    if let Some(boolean) = boolean(text) {
        return Json::Bool(boolean);
    }
    number(text).map_or_else(|| Json::String(text.to_owned()), Json::Number)
}

/// The kind of a plain scalar, for messages.
pub(super) fn kind(text: &str) -> &'static str {
    match resolve(text) {
        Json::Null => "empty",
        Json::Bool(_) => "a boolean",
        Json::Number(_) if text.starts_with('-') => "a negative number",
        Json::Number(_) => "a number",
        Json::String(_) | Json::Array(_) | Json::Object(_) => "a text",
    }
}

/// Parses a duration such as `30s`, `5m`, `1h30m` or `250ms`: numbers with
/// units, largest first and each at most once.
pub fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    let mut smallest = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|it| *it > 0)?;
        let amount: u64 = rest[..digits].parse().ok()?;
        let after = &rest[digits..];
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let millis = unit(&after[..end]).filter(|it| *it < smallest)?;
        total = total.checked_add(Duration::from_millis(amount.checked_mul(millis)?))?;
        (rest, smallest) = (&after[end..], millis);
    }
    (smallest != u64::MAX).then_some(total)
}

fn unit(text: &str) -> Option<u64> {
    match text {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    }
}

fn radix(digits: &str, radix: u32) -> Option<Number> {
    let signed = digits.starts_with(['+', '-']);
    u64::from_str_radix(digits, radix).ok().filter(|_| !signed).map(Number::from)
}

fn is_integer(text: &str) -> bool {
    all_digits(text.strip_prefix(['+', '-']).unwrap_or(text))
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |it: &str| it.is_empty() || all_digits(it);
    let mantissa_ok = !(whole.is_empty() && fraction.is_empty());
    mantissa_ok && digits(whole) && digits(fraction) && exponent.is_none_or(is_integer)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for text in ["no", "yes", "on", "off", "y", "1.2.3", "1e", ".", "+", "-", "0x", "0o9"] {
            check(text, json!(text));
        }
        for text in ["0x-1", "0b1", "1_000", ".inf", ".nan", "2024-01-01", "12:30", "1e5x", "e5"] {
            check(text, json!(text));
        }
        check("true", json!(true));
        check("FALSE", json!(false));
        check("tRue", json!("tRue"));
        check("~", json!(null));
        check("+12", json!(12));
        check("-7", json!(-7));
        check("007", json!(7));
        check("0x1F", json!(31));
        check("0o17", json!(15));
        check("1.10", json!(1.1));
        check("5.", json!(5.0));
        check("-.5", json!(-0.5));
        check("1e3", json!(1000.0));
        check("18446744073709551615", json!(u64::MAX));
        check("18446744073709551616", json!(18446744073709551616.0));
        check("1e999", json!("1e999"));
    }

    #[test]
    fn durations_need_units_from_large_to_small() {
        assert_eq!(duration("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("0s"), Some(Duration::ZERO));
        for text in ["", "5", "s", "5x", "5s5s", "5s1m", "-5s", "5 s", "99999999999999999999s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Json) {
        assert_eq!(resolve(text), expected, "{text}");
    }
}
