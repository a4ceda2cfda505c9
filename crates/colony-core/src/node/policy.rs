//! The waiting times and limits of a node.

use std::time::Duration;

use crate::document::COMPONENT_TIMEOUT;

/// The maximum number of deployments in a manifest.
pub const DEPLOYMENT_LIMIT: usize = 1_000;
/// The maximum number of components in a deployment.
pub const COMPONENT_LIMIT: usize = 64;

/// The waiting times of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How long a service without a health check must run to count as healthy.
    pub settle: Duration,
    /// The timeout of a component whose document sets none.
    pub timeout: Duration,
    /// How long a document must stay installed before the previous one is
    /// dropped.
    pub keep_previous: Duration,
    pub backoff: Backoff,
    /// A component that breaks again after this many restarts within
    /// `restart_window` is reported as failed.
    pub restart_limit: usize,
    pub restart_window: Duration,
    /// Within this time after INSTALLED, a component that ends is reported as a
    /// failure at once, because the rollout depends on it.
    pub probation: Duration,
    /// How far the stored clock may lag behind while a deadline is pending.
    pub clock_lag: Duration,
}

/// Waits that double, from `first` to `longest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            settle: Duration::from_secs(5),
            timeout: COMPONENT_TIMEOUT,
            keep_previous: Duration::from_secs(3_600),
            backoff: Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) },
            restart_limit: 5,
            restart_window: Duration::from_secs(600),
            probation: Duration::from_secs(60),
            clock_lag: Duration::from_secs(10),
        }
    }
}

impl Backoff {
    /// The wait before try number `tries`, counted from 0, with a random
    /// addition so that many nodes do not return at once.
    pub fn wait(&self, tries: usize, entropy: u64) -> Duration {
        let doublings = u32::try_from(tries.min(16)).unwrap_or(16);
        let wait = self.first.saturating_mul(1 << doublings).min(self.longest);
        let spread = u64::try_from(wait.as_millis() / 4).unwrap_or(u64::MAX).saturating_add(1);
        wait.saturating_add(Duration::from_millis(entropy % spread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        check(0, 0, 1_000);
        check(1, 0, 2_000);
        check(5, 0, 32_000);
        check(6, 0, 60_000);
        check(usize::MAX, 0, 60_000);
    }

    #[test]
    fn chance_adds_at_most_a_quarter() {
        check(0, 250, 1_250);
        check(0, 251, 1_000);
    }

    #[track_caller]
    fn check(tries: usize, entropy: u64, expected: u64) {
        let wait = Policy::default().backoff.wait(tries, entropy);
        assert_eq!(wait, Duration::from_millis(expected));
    }
}
