//! The one place that looks at clocks, and what is made of many samples.

use std::time::{Duration, Instant, SystemTime};

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Microseconds since 1970: what the logs of the roles are compared with.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The times of one thing that was done again and again.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn add(&mut self, it: Duration) {
        self.0.push(it);
        self.0.sort();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn median(&self) -> Duration {
        self.at(50)
    }

    pub(crate) fn p95(&self) -> Duration {
        self.at(95)
    }

    /// The smallest sample that so many of a hundred do not exceed.
    fn at(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sorted_samples() {
        let mut samples = Samples::default();
        (1..=20).rev().for_each(|it| samples.add(Duration::from_millis(it)));
        assert_eq!(samples.median(), Duration::from_millis(10));
        assert_eq!(samples.p95(), Duration::from_millis(19));
        assert_eq!(Samples::default().p95(), Duration::ZERO);
    }
}
