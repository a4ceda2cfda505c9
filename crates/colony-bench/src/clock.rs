//! The one place that looks at a clock.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long `work` took, and what it returned.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let value = black_box(work());
    (start.elapsed(), value)
}

/// The median time of `rounds` runs of the same work.
pub(crate) fn repeated<T>(rounds: usize, mut work: impl FnMut() -> T) -> Duration {
    median((0..rounds).map(|_| timed(&mut work).0).collect())
}

pub(crate) fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}
