//! The repository of a component's artifact, its revision, and its timeout.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::value::text::{Invalid, Reason, Text, check, holds_text, serde_as_text};

/// An OCI repository, `oci://registry/name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository(String);

/// An OCI tag that is a SemVer 2.0 version, with `_` in place of `+`. Ordered
/// as text, because revisions are only compared for equality.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(String);

/// How long to wait for a component, written `8m30s`. It is serialised as it
/// was read, so `0m90s` and `1m30s` are two values of one duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timeout {
    minutes: u32,
    seconds: u32,
}

holds_text!(Repository);
holds_text!(Revision);
serde_as_text!(Timeout);

impl Repository {
    /// The repository without the scheme, as registries expect it.
    pub fn reference(&self) -> &str {
        self.0.strip_prefix("oci://").unwrap_or(&self.0)
    }
}

impl Text for Repository {
    const WHAT: &'static str = "repository";
    const EXPECTED: &'static str = "an OCI repository such as `oci://registry.example.com/name`";
}

impl FromStr for Repository {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Repository, Invalid> {
        check::<Self>(text, 1024, |c| c.is_ascii_graphic())?;
        match text.strip_prefix("oci://") {
            Some(rest) if !rest.is_empty() && !rest.starts_with('/') => {
                Ok(Repository(text.to_owned()))
            }
            _ => Err(Invalid::new::<Self>(text, Reason::Form)),
        }
    }
}

impl Text for Revision {
    const WHAT: &'static str = "revision";
    const EXPECTED: &'static str =
        "a SemVer 2.0 version such as `1.4.0` or `1.4.0-rc.1_build`, without `v`";
}

impl FromStr for Revision {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Revision, Invalid> {
        // 128 is the longest tag a registry accepts.
        check::<Self>(text, 128, |c| c.is_ascii_alphanumeric() || "._-".contains(c))?;
        if is_semver(text) {
            Ok(Revision(text.to_owned()))
        } else {
            Err(Invalid::new::<Self>(text, Reason::Form))
        }
    }
}

fn is_semver(text: &str) -> bool {
    let (version, build) = split(text, '_');
    let (core, pre) = split(version, '-');
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.iter().all(|it| is_number(it))
        && pre.is_none_or(|it| it.split('.').all(is_pre_release))
        && build.is_none_or(|it| it.split('.').all(is_identifier))
}

fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn is_number(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    digits && (text == "0" || !text.starts_with('0'))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

fn is_pre_release(text: &str) -> bool {
    let digits = text.bytes().all(|it| it.is_ascii_digit());
    if digits { is_number(text) } else { is_identifier(text) }
}

impl Timeout {
    pub fn duration(&self) -> Duration {
        Duration::from_secs(u64::from(self.minutes) * 60 + u64::from(self.seconds))
    }
}

impl Text for Timeout {
    const WHAT: &'static str = "timeout";
    const EXPECTED: &'static str = "minutes and seconds such as `8m30s` or `0m45s`";
}

impl FromStr for Timeout {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Timeout, Invalid> {
        check::<Self>(text, 32, |c| c.is_ascii_digit() || c == 'm' || c == 's')?;
        let form = || Invalid::new::<Self>(text, Reason::Form);
        let (minutes, rest) = text.split_once('m').ok_or_else(form)?;
        let seconds = rest.strip_suffix('s').ok_or_else(form)?;
        Ok(Timeout { minutes: amount(text, minutes)?, seconds: amount(text, seconds)? })
    }
}

fn amount(text: &str, digits: &str) -> Result<u32, Invalid> {
    if digits.is_empty() || digits.contains(['m', 's']) {
        return Err(Invalid::new::<Timeout>(text, Reason::Form));
    }
    digits.parse().map_err(|_| Invalid::new::<Timeout>(text, Reason::TooLarge))
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m{}s", self.minutes, self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_semver_with_underscore_for_build() {
        for text in ["1.0.9", "0.0.0", "1.2.3-rc.1", "1.2.3-0a.x-y", "1.2.3_b.01", "1.2.3-a_b-c"] {
            check::<Revision>(text, None);
        }
        for text in ["1.0", "1.0.0.0", "01.0.0", "1.2.3-01", "1.2.3-", "1.2.3_", "v1.2.3"] {
            check::<Revision>(text, Some("is malformed"));
        }
        check::<Revision>("1.2.3+build", Some("`1.2.3+build` has the character `+`"));
        check::<Revision>("", Some("is empty"));
    }

    #[test]
    fn repositories_are_oci() {
        check::<Repository>("oci://registry.example.com:5000/pumps/monitor", None);
        check::<Repository>("oci://", Some("is malformed"));
        check::<Repository>("https://example.com/x", Some("is malformed"));
        check::<Repository>("oci://a b", Some("has the character ` `"));
    }

    #[test]
    fn timeouts_are_minutes_and_seconds() {
        check::<Timeout>("8m30s", None);
        for text in ["30s", "5m", "m5s", "5ms", "1m2m3s", "1m2s3s"] {
            check::<Timeout>(text, Some("is malformed"));
        }
        check::<Timeout>("99999999999m0s", Some("is too large"));
        let timeout: Timeout = "1m90s".parse().unwrap();
        assert_eq!(
            (timeout.duration(), timeout.to_string()),
            (Duration::from_secs(150), "1m90s".into())
        );
    }

    #[track_caller]
    fn check<T: Text + std::fmt::Debug>(text: &str, flaw: Option<&str>) {
        match (text.parse::<T>(), flaw) {
            (Ok(_), None) => {}
            (Err(error), Some(flaw)) => assert!(error.to_string().contains(flaw), "{error}"),
            (other, _) => panic!("{text}: {other:?}"),
        }
    }
}
