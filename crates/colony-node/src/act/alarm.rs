//! When the core is to be stepped next without another event.

use std::time::Duration;

use tokio::time::Instant;

/// The pause after a step that could not be stored.
const TROUBLE: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Alarm {
    at: Option<Instant>,
    core_restored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Tick,
    /// The core was restored from disk: it needs the capabilities and the
    /// containers again.
    Begin,
}

impl Alarm {
    pub(crate) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Sets the time that a step requested. A restored core has no timers
    /// before it has received all inputs again, so until then only that time
    /// counts.
    pub(crate) fn set(&mut self, wake: Option<Instant>) {
        if !self.core_restored {
            self.at = wake;
        }
    }

    /// A step was not stored. The disk has a problem, so the next try waits.
    pub(crate) fn core_was_restored(&mut self) {
        if !self.core_restored {
            (self.core_restored, self.at) = (true, Some(Instant::now() + TROUBLE));
        }
    }

    pub(crate) fn ring(&mut self) -> Due {
        self.at = None;
        if std::mem::take(&mut self.core_restored) { Due::Begin } else { Due::Tick }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn steps_say_when_to_tick() {
        check("5", Some(5), Due::Tick);
        check("5 -", None, Due::Tick);
        check("5 9", Some(9), Due::Tick);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_takes_the_place_of_telling_everything_again() {
        check("!", Some(2), Due::Begin);
        check("9 !", Some(2), Due::Begin);
        check("! -", Some(2), Due::Begin);
        check("! 1 9", Some(2), Due::Begin);
        check("! !", Some(2), Due::Begin);
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_for_ever_does_not_put_it_off_for_ever() {
        let mut alarm = Alarm::default();
        alarm.core_was_restored();
        let due = alarm.at();
        tokio::time::advance(Duration::from_secs(1)).await;
        alarm.core_was_restored();
        assert_eq!(alarm.at(), due);
        assert_eq!(alarm.ring(), Due::Begin);
        alarm.set(None);
        assert_eq!((alarm.at(), alarm.ring()), (None, Due::Tick));
    }

    /// Steps that request a wake-up after so many seconds or none (`-`), and
    /// steps that were not stored (`!`).
    #[track_caller]
    fn check(steps: &str, seconds: Option<u64>, due: Due) {
        let (mut alarm, now) = (Alarm::default(), Instant::now());
        for step in steps.split(' ') {
            match step {
                "!" => alarm.core_was_restored(),
                "-" => alarm.set(None),
                wake => alarm.set(Some(now + Duration::from_secs(wake.parse().expect("seconds")))),
            }
        }
        assert_eq!(alarm.at().map(|it| it.duration_since(now).as_secs()), seconds, "{steps}");
        assert_eq!(alarm.ring(), due, "{steps}");
    }
}
