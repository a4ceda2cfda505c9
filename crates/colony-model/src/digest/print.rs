//! The digest of a role's whole state, by which equal states are recognised.
//!
//! A role is written with its `Debug`, so no relevant field can be forgotten.
//! Two things are left out because they only grow:
//! - stamps of the monotonic clock are written in units relative to the role's
//!   present, and all old stamps are equal;
//! - positions and hashes of the log (`Log`, `Recent`); events that the central
//!   orchestrator lacks are part of the world's digest.

use std::fmt::{self, Debug, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

use colony_core::time::Monotonic;

use crate::world::time::{OLD, UNIT};

/// The digest of `value` as seen at `now`.
pub(crate) fn print(value: &impl Debug, now: Monotonic) -> u64 {
    let mut printer = Printer { hasher: DefaultHasher::new(), now: now.0, mode: Mode::Plain };
    // Hashing cannot fail.
    let _ = write!(printer, "{value:?}");
    printer.hasher.finish()
}

/// The digest of a value without times.
pub(crate) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A stamp in units relative to `now`; past stamps are negative, `u64::MAX`
/// stays the maximum.
pub(crate) fn relative(stamp: u64, now: u64) -> i64 {
    let signed = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    if stamp == u64::MAX {
        return i64::MAX;
    }
    match stamp.checked_sub(now) {
        Some(ahead) => signed(ahead.div_ceil(UNIT)),
        None => -signed((now - stamp).div_ceil(UNIT).min(OLD)),
    }
}

struct Printer {
    hasher: DefaultHasher,
    now: u64,
    mode: Mode,
}

enum Mode {
    Plain,
    /// `Monotonic` was written; its bracket and its digits follow.
    Stamp,
    /// Inside a part that is left out, at this depth of brackets.
    Skip {
        depth: i32,
    },
}

impl Write for Printer {
    /// `Debug` writes names, brackets and numbers one by one.
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        match self.mode {
            Mode::Plain => self.plain(piece),
            Mode::Stamp => self.stamp(piece),
            Mode::Skip { depth } => self.skip(piece, depth),
        }
        Ok(())
    }
}

impl Printer {
    fn plain(&mut self, piece: &str) {
        match piece {
            "Monotonic" => self.mode = Mode::Stamp,
            "Log" | "Recent" => self.mode = Mode::Skip { depth: 0 },
            _ => self.hasher.write(piece.as_bytes()),
        }
    }

    fn stamp(&mut self, piece: &str) {
        let Ok(stamp) = piece.parse::<u64>() else { return };
        self.hasher.write(b"@");
        self.hasher.write_i64(relative(stamp, self.now));
        self.mode = Mode::Plain;
    }

    fn skip(&mut self, piece: &str, depth: i32) {
        let opened = piece.bytes().filter(|it| b"([{".contains(it)).count();
        let closed = piece.bytes().filter(|it| b")]}".contains(it)).count();
        let change = i32::try_from(opened).unwrap_or(0) - i32::try_from(closed).unwrap_or(0);
        let depth = depth + change;
        self.mode = if depth == 0 && closed > 0 { Mode::Plain } else { Mode::Skip { depth } };
    }
}

#[cfg(test)]
mod tests {
    use colony_core::event::Log;

    use super::*;

    #[test]
    fn only_the_distance_to_now_counts() {
        check(&Some(Monotonic(70_000)), 50_000, &Some(Monotonic(90_000)), 70_000, true);
        check(&Some(Monotonic(70_000)), 50_000, &Some(Monotonic(90_000)), 50_000, false);
        check(&Monotonic(61_000), 50_000, &Monotonic(69_000), 50_000, true);
        check(&Monotonic(1_000), 500_000, &Monotonic(9_000), 700_000, true);
        check(&Monotonic(u64::MAX), 500_000, &Monotonic(u64::MAX), 700_000, true);
    }

    #[test]
    fn the_end_of_a_log_does_not_count_but_what_stands_beside_it_does() {
        let log = |incarnation| Log::new("home".parse().expect("a name"), incarnation);
        check(&(log(0), 7), 0, &(log(1), 7), 0, true);
        check(&(log(0), 7), 0, &(log(0), 8), 0, false);
    }

    #[track_caller]
    fn check<T: Debug>(one: &T, now: u64, other: &T, then: u64, alike: bool) {
        let same = print(one, Monotonic(now)) == print(other, Monotonic(then));
        assert_eq!(same, alike, "{one:?} at {now}, {other:?} at {then}");
    }
}
