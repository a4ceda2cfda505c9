//! Detects containers that something other than this node stopped.
//!
//! The state of a container is the same whether it ended by itself or a person
//! stopped it; only the engine's events differ. Docker emits a `kill` before
//! the `die` that follows from it, Podman a `stop` or `kill` after the end.
//! Podman 4 often emits no `stop`, but a command that stops a container also
//! cleans it up, in addition to the container's own monitor: a second `cleanup`
//! means the same. Events while this node acts on the deployment are its own
//! doing and not recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The longest time between a signal and the end that it explains.
const REACH: Duration = Duration::from_secs(60);
/// How long after an end its explanation may arrive.
const JUST: Duration = Duration::from_millis(250);
/// More containers than this are not remembered.
const LIMIT: usize = 1_024;
/// Signals that programs take as a message, by number and name: reload, rotate
/// logs, resize.
const MESSAGES: [&str; 8] = ["1", "10", "12", "28", "HUP", "USR1", "USR2", "WINCH"];

#[derive(Debug, Default)]
pub(crate) struct Interference(Mutex<BTreeMap<String, Mark>>);

/// When a container was signalled, and when it ended.
#[derive(Debug, Default, Clone, Copy)]
struct Mark {
    told: Option<Instant>,
    ended: Option<Instant>,
    cleaned: bool,
}

impl Interference {
    /// Records an event of the container `id`. `own` means that this node acts
    /// on its deployment.
    pub(crate) fn note(&self, id: &str, action: &str, signal: Option<&str>, own: bool) {
        match action {
            "kill" if !own && ends(signal) => self.mark(id, |it, now| it.told = Some(now)),
            "stop" if !own => self.mark(id, |it, now| it.told = Some(now)),
            "cleanup" if !own => self.mark(id, |it, now| {
                if std::mem::replace(&mut it.cleaned, true) {
                    it.told = it.told.or(Some(now));
                }
            }),
            "die" | "died" => self.mark(id, |it, now| it.ended = Some(now)),
            "start" | "destroy" | "remove" => drop(self.0.lock().remove(id)),
            _ => {}
        }
    }

    /// The container was ended from outside.
    pub(crate) fn explains(&self, id: &str) -> bool {
        let mark = self.0.lock().get(id).copied().unwrap_or_default();
        let Some(told) = mark.told else { return false };
        let ended = mark.ended.unwrap_or_else(Instant::now);
        ended.saturating_duration_since(told).max(told.saturating_duration_since(ended)) < REACH
    }

    /// Waits a moment if the container has just ended without an explanation:
    /// Podman reports a signal after the end.
    pub(crate) async fn settle(&self, id: &str) {
        let mark = self.0.lock().get(id).copied().unwrap_or_default();
        if mark.told.is_none() && mark.ended.is_some_and(|it| it.elapsed() < JUST) {
            tokio::time::sleep(JUST).await;
        }
    }

    fn mark(&self, id: &str, set: impl FnOnce(&mut Mark, Instant)) {
        let mut marks = self.0.lock();
        if marks.len() < LIMIT || marks.contains_key(id) {
            set(marks.entry(id.to_owned()).or_default(), Instant::now());
        }
    }
}

/// An event without a signal counts as one that ends the container.
fn ends(signal: Option<&str>) -> bool {
    signal.is_none_or(|it| !MESSAGES.contains(&it.trim_start_matches("SIG")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_end_is_explained_by_a_signal_from_outside() {
        check("die", false).await;
        check("kill:9 die", true).await;
        check("kill:SIGTERM 10s die stop", true).await;
        check("died stop", true).await;
        check("died cleanup", false).await;
        check("died cleanup cleanup", true).await;
        check("cleanup died cleanup", true).await;
        check("kill die", true).await;
        check("kill:9", true).await;
        check("kill:9 10s die 120s", true).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_explanation_may_follow_an_end_by_a_moment() {
        check_settled("die", 0, JUST).await;
        check_settled("die", 249, JUST).await;
        check_settled("die", 250, Duration::ZERO).await;
        check_settled("stop die", 0, Duration::ZERO).await;
        check_settled("start", 0, Duration::ZERO).await;
    }

    /// Settles so many milliseconds after the last event.
    async fn check_settled(actions: &str, after: u64, waits: Duration) {
        let heard = Interference::default();
        actions.split(' ').for_each(|it| heard.note("c1", it, None, false));
        tokio::time::advance(Duration::from_millis(after)).await;
        let begun = Instant::now();
        heard.settle("c1").await;
        assert_eq!(begun.elapsed(), waits, "{actions} {after} ms ago");
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_containers_are_remembered() {
        let heard = Interference::default();
        (0..LIMIT).for_each(|it| heard.note(&it.to_string(), "stop", None, false));
        heard.note("one more", "stop", None, false);
        assert!(heard.explains("0") && !heard.explains("one more"));
        heard.note("0", "die", None, false);
        heard.note("1", "destroy", None, false);
        heard.note("one more", "stop", None, false);
        assert!(heard.explains("one more"), "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_only_spoke_to_the_program_explains_nothing() {
        check("kill:1 die", false).await;
        check("kill:SIGHUP die", false).await;
        check("kill:15 59s die", true).await;
        check("kill:15 60s die", false).await;
    }

    #[tokio::test(start_paused = true)]
    async fn own_doing_and_earlier_runs_explain_nothing() {
        check("own:kill die", false).await;
        check("own:stop die", false).await;
        check("died own:cleanup cleanup", false).await;
        check("died cleanup start died cleanup", false).await;
        check("kill:9 die start die", false).await;
        check("kill:9 die destroy", false).await;
    }

    async fn check(words: &str, expected: bool) {
        let heard = Interference::default();
        for word in words.split(' ') {
            if let Some(seconds) = word.strip_suffix('s').and_then(|it| it.parse().ok()) {
                tokio::time::advance(Duration::from_secs(seconds)).await;
                continue;
            }
            let (own, word) = word.strip_prefix("own:").map_or((false, word), |it| (true, it));
            let (action, signal) = word.split_once(':').map_or((word, None), |(a, s)| (a, Some(s)));
            heard.note("c1", action, signal, own);
        }
        assert_eq!(heard.explains("c1"), expected, "{words}");
        assert!(!heard.explains("c2"), "{words}");
    }
}
