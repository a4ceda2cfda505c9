//! Settings with a structured value.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};

/// `a,b` as a list; blanks around the items are ignored.
pub(crate) fn list(text: Option<&str>) -> Vec<String> {
    let items = text.unwrap_or_default().split(',').map(str::trim);
    items.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// `a=1,b=2` as a map.
pub(crate) fn pairs(text: Option<&str>) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |item: &String| match item.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => bail!("`{item}` should read key=value"),
    };
    list(text).iter().map(pair).collect()
}

/// `5s`, `250ms`, `2m` or `24h`.
pub(crate) fn seconds(text: &str) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let plain = digits.bytes().all(|it| it.is_ascii_digit());
    let number = plain.then(|| digits.parse::<u64>().ok()).flatten();
    let number = number.with_context(|| format!("`{text}` should read like 5s or 250ms"))?;
    match &text[digits.len()..] {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        "h" => Ok(Duration::from_secs(number.saturating_mul(3_600))),
        unit => bail!("`{unit}` is not a unit in `{text}`: ms, s, m or h"),
    }
}

/// `512KiB`, `256MiB` or `2GiB`.
pub(crate) fn bytes(text: &str) -> anyhow::Result<u64> {
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let plain = digits.bytes().all(|it| it.is_ascii_digit());
    let number = plain.then(|| digits.parse::<u64>().ok()).flatten();
    let number = number.with_context(|| format!("`{text}` should read like 256MiB"))?;
    let unit = match &text[digits.len()..] {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => bail!("`{unit}` is not a unit of `{text}`: expected KiB, MiB or GiB"),
    };
    Ok(number.saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(bytes("256MiB").expect("a size"), 256 * 1024 * 1024);
        assert!(bytes("256").is_err() && bytes("MiB").is_err() && bytes("-1MiB").is_err());
    }

    #[test]
    fn values_read_as_written() {
        assert_eq!(list(Some(" a, b,,")), ["a", "b"]);
        assert_eq!(pairs(Some("a=1,b=x=y")).expect("pairs")["b"], "x=y");
        assert!(pairs(Some("a")).is_err());
        assert_eq!(seconds("250ms").expect("a time"), Duration::from_millis(250));
        assert_eq!(seconds("2m").expect("a time"), Duration::from_secs(120));
        assert_eq!(seconds("24h").expect("a time"), Duration::from_secs(24 * 3_600));
        assert!(seconds("5d").is_err());
        assert!(seconds("soon").is_err());
        assert!(seconds("+5s").is_err());
    }
}
