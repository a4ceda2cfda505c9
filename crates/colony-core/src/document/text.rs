//! Values of settings that are typed as one word: counts, shares, labels, durations.
//!
//! Each is read by `FromStr` wherever it comes from: a file in Git, a request
//! or a command line. In JSON a count is a number, labels are a mapping and
//! everything else is a text, as in the file.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::strategy::{CountOrPercent, Subset};

pub(super) const SHARE: &str = "a number of nodes from 1, or a percentage from `1%` to `100%`";
pub(super) const SUBSET: &str =
    "a number of nodes from 1, a percentage from `1%` to `100%`, or labels such as `line=press`";
pub(super) const DURATION: &str = "a duration such as `30s`, `5m` or `1h30m`";

/// A duration of at most a week, written as `5m` or `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingDuration(Duration);

impl SettingDuration {
    /// A week.
    pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

    pub fn get(self) -> Duration {
        self.0
    }
}

impl From<Duration> for SettingDuration {
    fn from(duration: Duration) -> SettingDuration {
        SettingDuration(duration.min(SettingDuration::LONGEST))
    }
}

impl FromStr for SettingDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<SettingDuration, String> {
        match colony_margo::yaml::duration(text) {
            None => Err(format!("expected {DURATION}")),
            Some(long) if long > SettingDuration::LONGEST => {
                Err("expected at most 168h".to_owned())
            }
            Some(duration) => Ok(SettingDuration(duration)),
        }
    }
}

impl fmt::Display for SettingDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u128); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
        let mut rest = self.0.as_millis();
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, millis) in UNITS {
            if rest / millis > 0 {
                write!(f, "{}{unit}", rest / millis)?;
            }
            rest %= millis;
        }
        Ok(())
    }
}

impl Serialize for SettingDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SettingDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SettingDuration, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|it| de::Error::custom(format!("`{}`: {it}", clip(&text))))
    }
}

impl FromStr for CountOrPercent {
    type Err = String;

    fn from_str(text: &str) -> Result<CountOrPercent, String> {
        let number = |digits: &str, most: u32| {
            let plain = digits.bytes().all(|it| it.is_ascii_digit());
            digits.parse().ok().filter(|it| plain && (1..=most).contains(it))
        };
        let value = match text.strip_suffix('%') {
            Some(percent) => number(percent, 100).map(CountOrPercent::Percent),
            None => number(text, CountOrPercent::MOST).map(CountOrPercent::Count),
        };
        value.ok_or_else(|| format!("expected {SHARE}"))
    }
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CountOrPercent::Count(count) => write!(f, "{count}"),
            CountOrPercent::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Serialize for CountOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CountOrPercent::Count(count) => serializer.serialize_u32(*count),
            CountOrPercent::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for CountOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CountOrPercent, D::Error> {
        match Subset::deserialize(deserializer)? {
            Subset::Share(share) => Ok(share),
            Subset::Labels(_) => Err(de::Error::custom(format!("expected {SHARE}"))),
        }
    }
}

impl FromStr for Subset {
    type Err = String;

    fn from_str(text: &str) -> Result<Subset, String> {
        if !text.contains('=') {
            let share = text.parse().map(Subset::Share);
            return share.map_err(|_: String| format!("expected {SUBSET}"));
        }
        labels(text).map(Subset::Labels)
    }
}

/// Reads labels such as `line=press,hall=2`.
fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let label = |it: &str| match it.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected labels such as `line=press,hall=2`".to_owned()),
    };
    text.split(',').map(label).collect()
}

impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = match self {
            Subset::Share(share) => return share.fmt(f),
            Subset::Labels(labels) => labels,
        };
        for (index, (key, value)) in labels.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

impl Serialize for Subset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Subset::Share(share) => share.serialize(serializer),
            Subset::Labels(labels) => labels.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Subset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Subset, D::Error> {
        deserializer.deserialize_any(SubsetVisitor)
    }
}

struct SubsetVisitor;

impl<'de> Visitor<'de> for SubsetVisitor {
    type Value = Subset;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SUBSET)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Subset, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Subset, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Subset, E> {
        text.parse().map_err(|it| E::custom(format!("`{}`: {it}", clip(text))))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Subset, A::Error> {
        BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(Subset::Labels)
    }
}

/// The start of a received text, for an error.
fn clip(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_they_are_read() {
        for text in ["1", "25%", "100%", "100000", "line=press", "hall=2,line=press"] {
            check::<Subset>(text, text);
        }
        for text in ["0s", "90m", "250ms"] {
            check::<SettingDuration>(text, if text == "90m" { "1h30m" } else { text });
        }
        check::<SettingDuration>("7d", "168h");
    }

    #[test]
    fn bad_values_say_what_would_be_right() {
        for text in ["+1", "+25%", "0", "0%", "101%", "-1", "", "%", "1 ", "1%%", "100001"] {
            check::<CountOrPercent>(text, &format!("expected {SHARE}"));
        }
        check::<Subset>("all", &format!("expected {SUBSET}"));
        check::<Subset>("=x", "expected labels such as `line=press,hall=2`");
        check::<SettingDuration>("5x", &format!("expected {DURATION}"));
        check::<SettingDuration>("169h", "expected at most 168h");
    }

    #[test]
    fn json_is_as_in_the_file() {
        for json in ["1", "\"25%\"", "{\"line\":\"press\"}"] {
            let read: Subset = serde_json::from_str(json).expect("a subset");
            assert_eq!(serde_json::to_string(&read).expect("JSON"), json);
        }
        let error = serde_json::from_str::<CountOrPercent>("0").expect_err("no node");
        assert!(error.to_string().contains("expected a number of nodes from 1"), "{error}");
        let error = serde_json::from_str::<SettingDuration>("\"5x\"").expect_err("no duration");
        assert!(error.to_string().contains("`5x`: expected a duration such as `30s`"), "{error}");
    }

    #[track_caller]
    fn check<T: FromStr<Err = String> + ToString>(text: &str, expected: &str) {
        let actual = text.parse::<T>().map_or_else(|it| it, |it| it.to_string());
        assert_eq!(actual, expected, "{text}");
    }
}
