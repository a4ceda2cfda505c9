//! A log line with the engine's time stamp, and the position of a reader. Pure.

use std::collections::BTreeMap;
use std::fmt;

/// Longer lines are cut.
const LINE_LIMIT: usize = 4 << 10;
/// The longest position that is written or read.
const POSITION_LIMIT: usize = 2 << 10;
const NANOS: u64 = 1_000_000_000;

/// One line, with the time in nanoseconds since 1970 if the engine sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) time: Option<u64>,
    pub(crate) text: String,
}

impl Printed {
    /// Reads `2026-11-17T19:00:23.5Z text`; a line without a time is all text.
    pub(crate) fn read(line: &str) -> Printed {
        let line = line.trim_end();
        let (stamp, rest) = line.split_once(' ').unwrap_or((line, ""));
        match nanos(stamp) {
            Some(time) => Printed { time: Some(time), text: cut(rest) },
            None => Printed { time: None, text: cut(line) },
        }
    }

    /// The format that `read` accepts.
    pub(crate) fn write(&self) -> String {
        match self.time {
            Some(time) => format!("{} {}", stamp(time), self.text),
            None => self.text.clone(),
        }
    }
}

/// How far a reader has read each service: the time of the last line, and how
/// many lines of that very time were read. A position stays valid when a
/// container is replaced, and does not depend on the requested number of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Position(BTreeMap<String, (u64, u32)>);

impl Position {
    /// Reads the output of `Display`; invalid parts are skipped.
    pub(crate) fn read(text: &str) -> Position {
        let text = if text.len() > POSITION_LIMIT { "" } else { text };
        let one = |it: &str| {
            let (service, place) = it.rsplit_once('=')?;
            let (time, count) = place.split_once('+')?;
            Some((service.to_owned(), (time.parse().ok()?, count.parse().ok()?)))
        };
        Position(text.split(',').filter_map(one).collect())
    }

    /// The time from which to request lines, in seconds since 1970.
    pub(crate) fn since(&self, service: &str) -> Option<u64> {
        self.0.get(service).map(|it| it.0 / NANOS)
    }

    /// Decides for the lines of one service, in order, which were not read yet.
    pub(crate) fn reader(&self, service: &str) -> Reader {
        let (time, count) = self.0.get(service).copied().unwrap_or_default();
        Reader { time, left: count }
    }

    /// Records that the reader has received this line of the service.
    pub(crate) fn advance(&mut self, service: &str, line: &Printed) {
        let Some(time) = line.time else { return };
        let place = self.0.entry(service.to_owned()).or_default();
        *place = match *place {
            (same, count) if same == time => (time, count.saturating_add(1)),
            _ => (time, 1),
        };
    }
}

impl fmt::Display for Position {
    /// If not all services fit, those that printed last are kept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.1));
        let mut text = String::new();
        for (service, (time, count)) in all {
            let comma = if text.is_empty() { "" } else { "," };
            let next = format!("{comma}{service}={time}+{count}");
            if text.len() + next.len() <= POSITION_LIMIT {
                text.push_str(&next);
            }
        }
        f.write_str(&text)
    }
}

/// Skips lines that were read before.
#[derive(Debug)]
pub(crate) struct Reader {
    time: u64,
    left: u32,
}

impl Reader {
    pub(crate) fn is_new(&mut self, line: &Printed) -> bool {
        match line.time {
            // It belongs to the line before.
            None => self.left == 0,
            Some(time) if time < self.time => false,
            Some(time) if time == self.time && self.left > 0 => {
                self.left -= 1;
                false
            }
            Some(_) => {
                self.left = 0;
                true
            }
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(LINE_LIMIT).collect()
}

/// Reads RFC 3339, as both engines write it.
pub(crate) fn nanos(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|it| it.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone_at = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.splitn(3, ':').map(|it| it.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let sound =
        (1..=12).contains(&month) && (1..=31).contains(&day) && (1970..3000).contains(&year);
    let sound = sound && hour < 24 && minute < 60 && second <= 60;
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    let seconds = u64::try_from(seconds - offset(zone)?).ok().filter(|_| sound)?;
    Some(seconds * NANOS + fraction_nanos(fraction)?)
}

/// The offset of a zone from UTC, in seconds.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let ahead = hours.parse::<i64>().ok()? * 3_600 + minutes.parse::<i64>().ok()? * 60;
    Some(if zone.starts_with('-') { -ahead } else { ahead })
}

fn fraction_nanos(digits: &str) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let plain = digits.bytes().all(|it| it.is_ascii_digit()) && digits.len() <= 9;
    format!("{digits:0<9}").parse().ok().filter(|_| plain)
}

/// Days since 1970 of a date in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the odd day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

pub(crate) fn stamp(time: u64) -> String {
    let (seconds, fraction) = (time / NANOS, time % NANOS);
    let (day, second) = (i64::try_from(seconds / 86_400).unwrap_or_default(), seconds % 86_400);
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:09}Z")
}

/// The date so many days after 1970 began.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_engines_are_read() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("2026-11-17T19:00:23.000000005Z", Some(1_794_942_023_000_000_005));
        check("2026-11-17T20:00:23.5+01:00", Some(1_794_942_023_500_000_000));
        check("2026-11-17T12:00:23-07:00", Some(1_794_942_023_000_000_000));
        check("2024-02-29T00:00:00Z", Some(1_709_164_800_000_000_000));
        for text in ["", "hello", "2026-11-17", "2026-13-17T00:00:00Z", "2026-11-17T25:00:00Z", "T"]
        {
            check(text, None);
        }
    }

    #[test]
    fn lines_are_read_as_written() {
        for text in ["2026-11-17T19:00:23.000000005Z up and well", "no time here"] {
            assert_eq!(Printed::read(text).write(), text);
        }
    }

    #[test]
    fn every_line_after_a_position_is_new_and_none_before_it() {
        follow("1a 2a 3a", "1a 2a 3a 4a", "4a");
        follow("1a 2a 2b", "1a 2a 2b 2c", "2c");
        follow("1a", "2a", "2a");
        follow("", "1a", "1a");
        follow("1a 2a", "1a 2a", "");
    }

    #[test]
    fn a_position_is_read_as_written_and_bounded() {
        let mut position = Position::default();
        advance(&mut position, "web (staged)", "1a 1b");
        advance(&mut position, "part/db", "7a");
        let text = position.to_string();
        assert_eq!(text, "part/db=7000000000+1,web (staged)=1000000000+2");
        assert_eq!(Position::read(&text), position);
        (0..200).for_each(|it| advance(&mut position, &format!("service-{it}"), "1a"));
        let text = position.to_string();
        assert!(text.len() <= POSITION_LIMIT && text.starts_with("part/db="), "{text}");
        assert_eq!(Position::read("x=,=+,a=1+b,,"), Position::default());
    }

    #[track_caller]
    fn follow(before: &str, now: &str, expected: &str) {
        let mut position = Position::default();
        advance(&mut position, "web", before);
        let mut reader = position.reader("web");
        let new: Vec<Printed> = lines(now).into_iter().filter(|it| reader.is_new(it)).collect();
        assert_eq!(new, lines(expected), "{before} → {now}");
    }

    fn advance(position: &mut Position, service: &str, words: &str) {
        lines(words).iter().for_each(|it| position.advance(service, it));
    }

    /// `2b` was printed at second 2.
    fn lines(words: &str) -> Vec<Printed> {
        let line = |it: &str| {
            let second: u64 = it[..1].parse().expect("a digit");
            Printed { time: Some(second * NANOS), text: it.to_owned() }
        };
        words.split_whitespace().map(line).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(nanos(text), expected, "{text}");
    }
}
