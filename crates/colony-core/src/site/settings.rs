//! Settings of a site: its timing, its maintenance windows, its holds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use colony_margo::yaml::{self, Cursor, Limits};
use colony_margo::{Finding, Findings};

use crate::document::Settings;
use crate::time::Timestamp;
use crate::transition::Reason;

/// Timeouts and backoff; configured at the local orchestrator, not in Git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A node that is silent for this long is suspect.
    pub suspect: Duration,
    /// A node that is silent for this long is offline.
    pub lease: Duration,
    /// A node that polls but does not report a lost attempt for this long gets
    /// another one.
    pub silence: Duration,
    pub backoff_first: Duration,
    pub backoff_cap: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            suspect: Duration::from_secs(12),
            lease: Duration::from_secs(15),
            silence: Duration::from_secs(30),
            backoff_first: Duration::from_secs(5),
            backoff_cap: Duration::from_secs(300),
        }
    }
}

/// `sites/<site>.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteSettings {
    pub labels: BTreeMap<String, String>,
    /// When changes may start; at any time if empty.
    pub windows: Vec<Window>,
}

/// A weekly maintenance window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Days on which it opens, Monday is 0.
    pub days: Vec<u8>,
    /// Minutes after midnight; a `to` at or before `from` lies on the next day.
    pub from: u16,
    pub to: u16,
    /// Minutes the site's clock is ahead of UTC.
    pub offset: i16,
}

/// A stop of changes by an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub by: String,
    pub note: String,
    pub since: Timestamp,
}

const DAY: u64 = 24 * 60;
const WEEK: u64 = 7 * DAY;
const MINUTE: u64 = 60_000;
/// 1970-01-01 was a Thursday.
const EPOCH_DAY: u64 = 3;

impl SiteSettings {
    /// The keys of the file, as `docs/deployment-settings.md` lists them.
    pub const KEYS: &[&str] = &["labels", "maintenanceWindows"];

    pub fn parse(text: &[u8]) -> Result<SiteSettings, Vec<Finding>> {
        let root = yaml::parse(text, &Limits::default())?;
        let findings = Findings::default();
        let settings = read(&Cursor::root(&root, &findings));
        match settings {
            Some(settings) if !findings.has_errors() => Ok(settings),
            _ => Err(findings.into_vec()),
        }
    }

    /// The window or the delay that blocks the start of what the site accepted
    /// at `since`; of the two the one that ends last.
    pub fn too_early(
        &self,
        settings: &Settings,
        since: Timestamp,
        now: Timestamp,
    ) -> Option<Reason> {
        let opens = self.opens(now);
        match (opens, settings.delayed_until(since, now)) {
            (Some(opens), until) if until.is_none_or(|it| it < opens) => {
                Some(Reason::WindowClosed { opens })
            }
            (_, until) => until.map(|until| Reason::Delayed { until }),
        }
    }

    /// `None` while a window is open, else when the next one opens.
    pub fn opens(&self, now: Timestamp) -> Option<Timestamp> {
        if self.windows.is_empty() {
            return None;
        }
        let minute = now.0 / MINUTE;
        let waits = self.windows.iter().map(|it| it.wait(minute));
        let wait = waits.min().unwrap_or(0);
        (wait > 0).then(|| Timestamp((minute + wait).saturating_mul(MINUTE)))
    }
}

impl Window {
    /// The keys of one window.
    pub const KEYS: &[&str] = &["days", "from", "to", "utcOffset"];

    /// Minutes until it opens; zero while it is open.
    fn wait(&self, minute: u64) -> u64 {
        let local = minute.saturating_add_signed(i64::from(self.offset));
        let at = local + EPOCH_DAY * DAY;
        let waits = self.days.iter().map(|day| {
            let opens = (u64::from(*day) * DAY + u64::from(self.from)) % WEEK;
            let since = (at + WEEK - opens) % WEEK;
            if since < self.length() { 0 } else { WEEK - since }
        });
        waits.min().unwrap_or(WEEK)
    }

    fn length(&self) -> u64 {
        let (from, to) = (u64::from(self.from) % DAY, u64::from(self.to) % DAY);
        if to > from { to - from } else { to + DAY - from }
    }
}

fn read(root: &Cursor<'_>) -> Option<SiteSettings> {
    root.refuse_unknown_keys(SiteSettings::KEYS);
    let labels = root.field("labels").map_or(Some(BTreeMap::new()), |it| {
        it.entries()?.iter().map(|e| Some((e.key.to_owned(), e.value.string()?))).collect()
    });
    let windows =
        root.field("maintenanceWindows").map_or(Some(Vec::new()), |it| it.each(read_window));
    Some(SiteSettings { labels: labels?, windows: windows? })
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

fn read_window(place: &Cursor<'_>) -> Option<Window> {
    place.refuse_unknown_keys(Window::KEYS);
    let days = place.field("days").map_or(Some((0..7).collect()), |it| it.some_each(read_day));
    let from = place.required("from").and_then(|it| read_time(&it));
    let to = place.required("to").and_then(|it| read_time(&it));
    let offset = place.field("utcOffset").map_or(Some(0), |it| read_offset(&it));
    Some(Window { days: days?, from: from?, to: to?, offset: offset? })
}

fn read_day(place: &Cursor<'_>) -> Option<u8> {
    let name = place.one_of(&DAYS)?;
    DAYS.iter().position(|it| *it == name).and_then(|it| u8::try_from(it).ok())
}

fn read_time(place: &Cursor<'_>) -> Option<u16> {
    minutes(&place.string()?).or_else(|| place.mismatch("a time from `00:00` to `23:59`"))
}

fn read_offset(place: &Cursor<'_>) -> Option<i16> {
    const EXPECTED: &str = "an offset such as `+01:00`";
    let text = place.string()?;
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => return place.mismatch(EXPECTED),
    };
    let offset = minutes(rest).and_then(|it| i16::try_from(it).ok()).map(|it| sign * it);
    offset.filter(|it| it.abs() <= 14 * 60).or_else(|| place.mismatch(EXPECTED))
}

fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |it: &str| it.len() == 2 && it.bytes().all(|it| it.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIGHT: &str = "maintenanceWindows:\n  - days: [mon, fri]\n    from: '22:00'\n    to: '04:00'\n    utcOffset: '+01:00'\n";

    #[test]
    fn a_window_is_open_over_midnight_of_its_day() {
        // 2026-11-16 is a Monday; 21:00 UTC is 22:00 at the site.
        check(NIGHT, "2026-11-16 20:59", "opens in 1 min");
        check(NIGHT, "2026-11-16 21:00", "open");
        check(NIGHT, "2026-11-17 02:59", "open");
        check(NIGHT, "2026-11-17 03:00", "opens in 5400 min");
    }

    #[test]
    fn without_windows_it_is_always_open() {
        check("labels: {}\n", "2026-11-16 12:00", "open");
    }

    #[test]
    fn mistakes_are_found_with_their_place() {
        check(
            "maintenanceWindows:\n  - days: [monday]\n    from: '25:00'\n    to: '04:00'\n",
            "2026-11-16 12:00",
            "2:12: maintenanceWindows[0].days[0]: `monday` is not known; expected `mon`, `tue`",
        );
    }

    #[test]
    fn a_sign_is_no_digit() {
        for (key, time) in [("from", "+1:30"), ("to", "01:+3"), ("utcOffset", "++1:00")] {
            let window = "maintenanceWindows:\n  - {from: '01:00', to: '02:00'}\n";
            let text = window.replace('}', &format!(", {key}: '{time}'}}"));
            let text = match key {
                "from" => text.replace("from: '01:00', ", ""),
                "to" => text.replace("to: '02:00', ", ""),
                _ => text,
            };
            assert!(SiteSettings::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_window_read_from_a_damaged_row_still_has_an_answer() {
        let window = Window { days: vec![255], from: u16::MAX, to: 0, offset: i16::MIN };
        let settings = SiteSettings { windows: vec![window], ..SiteSettings::default() };
        let opens = settings.opens(Timestamp(0)).expect("it is shut");
        assert!(opens.0 <= WEEK * MINUTE, "{opens:?}");
    }

    #[track_caller]
    fn check(text: &str, at: &str, expected: &str) {
        let settings = match SiteSettings::parse(text.as_bytes()) {
            Ok(settings) => settings,
            Err(findings) => {
                let first = findings[0].to_string();
                assert!(first.starts_with(expected), "{findings:?}");
                return;
            }
        };
        let minute = minute_of(at);
        let actual = match settings.opens(Timestamp(minute * MINUTE + 30_000)) {
            None => "open".to_owned(),
            Some(at) => format!("opens in {} min", at.0 / MINUTE - minute),
        };
        assert_eq!(actual, expected);
    }

    /// Minutes since 1970 of a time in November 2026.
    fn minute_of(text: &str) -> u64 {
        let (date, time) = text.split_once(' ').expect("date and time");
        let day: u64 = date.rsplit('-').next().and_then(|it| it.parse().ok()).expect("a day");
        const FIRST_OF_NOVEMBER_2026: u64 = 20_758;
        (FIRST_OF_NOVEMBER_2026 + day - 1) * DAY + u64::from(minutes(time).expect("a time"))
    }
}
