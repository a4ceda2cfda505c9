//! A health check: its command, its schedule, and the meaning of its results.
//!
//! Pure: the caller passes how long the container runs and the result of the
//! last try. The node runs checks itself on every engine, because Podman
//! without systemd never does, and because an engine waits a whole interval
//! before the first one. Here the first try comes at once and the next after a
//! pause that grows, so that "healthy" is known soon. Such early tries can only
//! pass: a failure counts when the engine's own check would have counted it,
//! which is after the start period and one interval after the one before.

use std::time::Duration;

use colony_core::code::Code;
use colony_core::node::Health;
use serde::{Deserialize, Serialize};

use crate::compose::Healthcheck;
use crate::containers::api::ImageCheck;

/// The pause before the second try.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The defaults of the Engine API.
const INTERVAL: Duration = Duration::from_secs(30);
const START_INTERVAL: Duration = Duration::from_secs(5);
const RETRIES: u32 = 3;
/// The shortest pause between two tries; more frequent checks gain nothing.
const SHORTEST: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Check {
    /// `CMD` and words, or `CMD-SHELL` and a line.
    test: Vec<String>,
    interval: Duration,
    pub(crate) timeout: Duration,
    start_period: Duration,
    start_interval: Duration,
    retries: u32,
}

impl Check {
    /// The check of a service: the compose file takes precedence over the
    /// image.
    pub(crate) fn of(file: Option<&Healthcheck>, image: Option<&ImageCheck>) -> Option<Check> {
        match file {
            Some(Healthcheck::Disabled) => None,
            Some(Healthcheck::Check {
                test,
                interval,
                timeout,
                start_period,
                start_interval,
                retries,
            }) => Some(Check {
                test: test.clone(),
                interval: (*interval).max(SHORTEST),
                timeout: (*timeout).max(SHORTEST),
                start_period: *start_period,
                start_interval: (*start_interval).max(SHORTEST),
                retries: (*retries).max(1),
            }),
            None => image.and_then(Check::of_image),
        }
    }

    fn of_image(image: &ImageCheck) -> Option<Check> {
        let words = image.test.as_deref().unwrap_or_default();
        if !matches!(words.first().map(String::as_str), Some("CMD" | "CMD-SHELL")) {
            return None;
        }
        // Zero and absence both mean the default.
        let time = |nanos: Option<u64>, default| match nanos.unwrap_or(0) {
            0 => default,
            nanos => Duration::from_nanos(nanos).max(SHORTEST),
        };
        Some(Check {
            interval: time(image.interval, INTERVAL),
            timeout: time(image.timeout, INTERVAL),
            start_period: time(image.start_period, Duration::ZERO),
            start_interval: time(image.start_interval, START_INTERVAL),
            retries: image.retries.filter(|it| *it > 0).unwrap_or(RETRIES),
            ..Check::with_defaults(words.to_vec())
        })
    }

    pub(crate) fn with_defaults(test: Vec<String>) -> Check {
        Check {
            test,
            interval: INTERVAL,
            timeout: INTERVAL,
            start_period: Duration::ZERO,
            start_interval: START_INTERVAL,
            retries: RETRIES,
        }
    }

    /// The command to execute in the container.
    pub(crate) fn command(&self) -> Vec<String> {
        match self.test.split_first() {
            Some((kind, line)) if kind == "CMD-SHELL" => {
                ["/bin/sh".to_owned(), "-c".to_owned(), line.join(" ")].to_vec()
            }
            Some((_, words)) => words.to_vec(),
            None => Vec::new(),
        }
    }

    /// The format for Podman: it joins the words and splits them again at
    /// spaces, unless they are one word that is a JSON list.
    pub(crate) fn podman_words(&self) -> Vec<String> {
        let odd = |it: &String| it.is_empty() || it.contains(char::is_whitespace);
        match self.test.split_first() {
            Some((kind, words)) if kind == "CMD" && words.iter().any(odd) => {
                vec![serde_json::to_string(words).unwrap_or_default()]
            }
            Some(_) | None => self.test.clone(),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(text: &str) -> Option<Check> {
        serde_json::from_str(text).ok()
    }
}

/// The results of the check during one run of a container.
#[derive(Debug)]
pub(crate) struct CheckHistory {
    check: Check,
    /// It passed at least once.
    passed: bool,
    tries: u32,
    /// Failures in a row that count, and when the last of them did.
    failures: u32,
    counted: Duration,
}

impl CheckHistory {
    pub(crate) fn new(check: Check) -> CheckHistory {
        CheckHistory { check, passed: false, tries: 0, failures: 0, counted: Duration::ZERO }
    }

    /// Records the result of a try that ended when the container had run for
    /// `age`. Returns the health and how long to wait before the next try.
    pub(crate) fn next(&mut self, age: Duration, answer: Result<(), String>) -> (Health, Duration) {
        let health = match answer {
            Ok(()) => self.pass(),
            Err(detail) => self.miss(age, detail),
        };
        (health, self.pause(age))
    }

    fn pass(&mut self) -> Health {
        self.passed = true;
        self.failures = 0;
        Health::Healthy
    }

    fn miss(&mut self, age: Duration, detail: String) -> Health {
        if self.passed || age >= self.next_count() {
            self.failures = self.failures.saturating_add(1);
            self.counted = age;
        }
        if self.failures >= self.check.retries {
            return Health::Unhealthy {
                code: Code::Unhealthy,
                detail: format!("{detail}, {}×", self.failures),
            };
        }
        if self.passed { Health::Healthy } else { Health::Starting }
    }

    /// When a failure of a container that never passed counts next.
    fn next_count(&self) -> Duration {
        self.check.start_period.max(self.counted + self.check.interval)
    }

    fn pause(&mut self, age: Duration) -> Duration {
        if self.passed {
            return self.check.interval;
        }
        let grown = FIRST_PAUSE.saturating_mul(1 << self.tries.min(16));
        self.tries += 1;
        let pause = grown.min(self.check.start_interval).min(self.check.interval);
        match self.next_count().saturating_sub(age) {
            Duration::ZERO => pause,
            until => pause.min(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tries_follow_each_other_quickly() {
        check("i1000 r3 p0", "f", "starting 0+50");
        check("i1000 r3 p0", "fff", "starting 0+50 | starting 50+100 | starting 150+200");
        check("i1000 r3 p0", "fp", "starting 0+50 | healthy 50+1000");
    }

    #[test]
    fn quick_tries_do_not_count_as_failures() {
        check(
            "i400 r2 p0",
            "ffffff",
            "starting 0+50 | starting 50+100 | starting 150+200 | starting 350+50 \
             | starting 400+400 | unhealthy (x, 2×) 800+400",
        );
    }

    #[test]
    fn failures_in_the_start_period_do_not_count() {
        check(
            "i100 r1 p300",
            "fffffff",
            "starting 0+50 | starting 50+100 | starting 150+100 | starting 250+50 \
             | unhealthy (x, 1×) 300+100 | unhealthy (x, 2×) 400+100 | unhealthy (x, 3×) 500+100",
        );
    }

    #[test]
    fn what_passed_once_is_asked_at_the_interval_and_may_fail_and_recover() {
        check(
            "i100 r2 p9000",
            "pffpf",
            "healthy 0+100 | healthy 100+100 | unhealthy (x, 2×) 200+100 | healthy 300+100 \
             | healthy 400+100",
        );
    }

    #[test]
    fn words_survive_podman() {
        for (test, expected) in [
            (vec!["CMD", "/a", "-b"], vec!["CMD", "/a", "-b"]),
            (vec!["CMD", "/a", "b c"], vec!["[\"/a\",\"b c\"]"]),
            (vec!["CMD-SHELL", "a b || c"], vec!["CMD-SHELL", "a b || c"]),
        ] {
            let test = test.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(Check::with_defaults(test).podman_words(), expected);
        }
    }

    #[test]
    fn the_file_goes_before_the_image_and_none_means_none() {
        let image = |test: &[&str]| ImageCheck {
            test: Some(test.iter().map(|it| (*it).to_owned()).collect()),
            interval: Some(2_000_000_000),
            timeout: Some(0),
            ..ImageCheck::default()
        };
        let own = Check::of(None, Some(&image(&["CMD-SHELL", "wget -q x || exit 1"]))).unwrap();
        assert_eq!(own.command(), ["/bin/sh", "-c", "wget -q x || exit 1"]);
        assert_eq!((own.interval, own.timeout), (Duration::from_secs(2), INTERVAL));
        assert_eq!(Check::of(None, Some(&image(&["NONE"]))), None);
        assert_eq!(Check::of(None, Some(&image(&[]))), None);
        assert_eq!(Check::of(Some(&Healthcheck::Disabled), Some(&image(&["CMD", "x"]))), None);
        assert_eq!(Check::of(None, None), None);
    }

    /// Plays the results (`p`ass, `f`ail) of a check (`i`nterval, `r`etries,
    /// start `p`eriod, in ms), each as soon as the next try is due.
    #[track_caller]
    fn check(words: &str, answers: &str, expected: &str) {
        let number = |key: char| {
            let word = words.split(' ').find(|it| it.starts_with(key)).unwrap();
            word[1..].parse::<u64>().unwrap()
        };
        let check = Check {
            interval: Duration::from_millis(number('i')),
            start_period: Duration::from_millis(number('p')),
            retries: u32::try_from(number('r')).unwrap(),
            ..Check::with_defaults(vec!["CMD".to_owned(), "x".to_owned()])
        };
        let mut history = CheckHistory::new(check);
        let mut age = Duration::ZERO;
        let told = answers.chars().map(|it| {
            let answer = if it == 'p' { Ok(()) } else { Err("x".to_owned()) };
            let (health, pause) = history.next(age, answer);
            let line = format!("{} {}+{}", name(&health), age.as_millis(), pause.as_millis());
            age += pause;
            line
        });
        assert_eq!(told.collect::<Vec<_>>().join(" | "), expected);
    }

    fn name(health: &Health) -> String {
        match health {
            Health::None => "none".to_owned(),
            Health::Starting => "starting".to_owned(),
            Health::Healthy => "healthy".to_owned(),
            Health::Unhealthy { detail, .. } => format!("unhealthy ({detail})"),
        }
    }
}
