//! The health of the site: the parts that failed last, and whether it can work.
//! Beside it: the health of its nodes, its surroundings, and metrics.

pub(crate) mod metrics;
pub(crate) mod surroundings;
pub(crate) mod vitals;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{info, warn};

use colony_core::id::GitRevision;
use colony_core::time::{Monotonic, Now};
use colony_core::why::{self, Outage};
use colony_wfm::Readiness;

use crate::brain::Brain;
use crate::clock::Clock;

/// How long a confirmation by central is valid: two of its long polls and a
/// margin.
const VOUCHED: Duration = Duration::from_secs(75);

/// The state of central and Git as the tasks report it; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Health(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    git: Option<Outage>,
    central: Option<Outage>,
    diverged: Option<Outage>,
    head: Option<GitRevision>,
    /// Since when central confirms that nothing newer exists for this site.
    vouched: Option<Monotonic>,
    acknowledged: u64,
    /// How often central answered again after an outage.
    returns: u64,
}

impl Health {
    pub(crate) fn git_answered(&self, head: Option<GitRevision>) {
        let mut parts = self.0.lock();
        if parts.head != head {
            parts.vouched = None;
        }
        parts.head = head;
        if parts.git.take().is_some() {
            info!("Git answers again");
        }
    }

    pub(crate) fn git_failed(&self, error: &anyhow::Error) {
        note(
            &mut self.0.lock().git,
            "Git does not answer, the clone is used",
            format!("{error:#}"),
        );
    }

    /// Records whether central confirms that nothing newer than the head
    /// `named` exists for this site. It counts only if that head was fetched
    /// last and Git answers.
    pub(crate) fn git_vouch(&self, named: Option<&GitRevision>, current: bool, now: Monotonic) {
        let mut parts = self.0.lock();
        let fetched = named.is_some() && parts.head.as_ref() == named && parts.git.is_none();
        parts.vouched = (current && fetched).then_some(now);
    }

    /// Whether the last confirmation is still valid.
    pub(crate) fn git_vouched(&self, now: Monotonic) -> bool {
        self.0.lock().vouched.is_some_and(|it| now.since(it) < VOUCHED)
    }

    /// The head of the branch when it was last fetched.
    pub(crate) fn git_head(&self) -> Option<GitRevision> {
        self.0.lock().head.clone()
    }

    /// Records an answer of central; true if it ended an outage.
    pub(crate) fn central_answered(&self) -> bool {
        let mut parts = self.0.lock();
        let back = parts.central.take().is_some();
        parts.returns += u64::from(back);
        if back {
            info!("the central orchestrator answers again");
        }
        back
    }

    /// How often central answered again after an outage; it may have been
    /// restored from a backup meanwhile.
    pub(crate) fn central_reconnects(&self) -> u64 {
        self.0.lock().returns
    }

    pub(crate) fn central_failed(&self, error: &anyhow::Error) {
        let what = "the central orchestrator does not answer";
        note(&mut self.0.lock().central, what, format!("{error:#}"));
    }

    /// Records or clears that the event log diverged from central.
    pub(crate) fn diverged(&self, problem: Option<String>) {
        let parts = &mut self.0.lock().diverged;
        match problem {
            Some(text) => note(parts, "the event log diverged", text),
            None => *parts = None,
        }
    }

    /// Central has all events below `next`.
    pub(crate) fn acknowledged(&self, next: u64) {
        self.0.lock().acknowledged = next;
    }

    pub(crate) fn next_unsent(&self) -> u64 {
        self.0.lock().acknowledged
    }

    pub(crate) fn central_is_away(&self) -> bool {
        self.0.lock().central.is_some()
    }

    pub(crate) async fn readiness(&self, brain: &Brain) -> Readiness {
        let look = |site: &_, now: Now| (is_ready(site), standstill(site, now));
        let (ready, mut reasons) = match brain.read(look).await {
            Ok(it) => it,
            Err(error) => (false, vec![error.to_string()]),
        };
        let parts = self.0.lock();
        let ready = ready && parts.diverged.is_none();
        let diverged = parts.diverged.iter().map(|it| it.problem.clone());
        let git = parts.git.iter();
        let git = git.map(|it| format!("Git does not answer, the clone is used: {}", it.problem));
        let central = parts.central.iter();
        let central =
            central.map(|it| format!("the central orchestrator does not answer: {}", it.problem));
        reasons.extend(diverged.chain(git).chain(central));
        Readiness { ready, reasons }
    }

    /// The outages of the central orchestrator and of Git.
    pub(crate) fn outages(&self) -> (Option<Outage>, Option<Outage>) {
        let parts = self.0.lock();
        (parts.central.clone(), parts.git.clone())
    }
}

fn is_ready(site: &colony_core::site::Site) -> bool {
    site.is_ready()
}

/// Why the site as a whole makes no progress; a site without nodes is healthy.
fn standstill(site: &colony_core::site::Site, now: Now) -> Vec<String> {
    if site.is_ready() {
        return Vec::new();
    }
    why::site(site, now).iter().map(|it| it.text(now.wall)).collect()
}

/// Records an outage; logged when it begins, not with every try.
fn note(part: &mut Option<Outage>, what: &str, problem: String) {
    if part.is_none() {
        warn!("{what}: {problem}");
    }
    let since = part.as_ref().map_or_else(Clock::wall, |it| it.since);
    *part = Some(Outage { since, problem });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_the_central_orchestrator_holds_for_what_was_fetched_and_for_a_while() {
        let [have, other]: [GitRevision; 2] =
            ["a", "b"].map(|it| it.repeat(40).parse().expect("a revision"));
        let minute = Monotonic(60_000);
        let check = |named: Option<&GitRevision>, current: bool, now: Monotonic, expected: bool| {
            let health = Health::default();
            health.git_answered(Some(have.clone()));
            health.git_vouch(named, current, Monotonic(0));
            assert_eq!(health.git_vouched(now), expected, "{named:?} {current} {now:?}");
        };
        check(Some(&have), true, minute, true);
        check(Some(&have), true, Monotonic(75_000), false);
        check(Some(&have), false, minute, false);
        check(Some(&other), true, minute, false);
        check(None, true, minute, false);

        let health = Health::default();
        health.git_answered(Some(have.clone()));
        health.git_failed(&anyhow::anyhow!("no route"));
        health.git_vouch(Some(&have), true, Monotonic(0));
        assert!(!health.git_vouched(minute), "Git has not answered since");
        health.git_answered(Some(have.clone()));
        health.git_vouch(Some(&have), true, Monotonic(0));
        health.git_answered(Some(other));
        assert!(!health.git_vouched(minute), "it was said of another commit");
    }
}
