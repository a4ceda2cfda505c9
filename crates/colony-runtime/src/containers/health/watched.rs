//! The runs of containers whose health is checked.
//!
//! Every look at the engine updates the set, and every start adds what it
//! started at once. A look that began before a start cannot know of it and must
//! not remove it, so each entry records which look was the last to begin before
//! it was added.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::node::Status;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::containers::health::check::Check;
use crate::containers::survey::ObservedContainer;

#[derive(Debug, Default)]
pub(crate) struct Watched {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// How many looks have begun.
    looks: u64,
    runs: BTreeMap<String, Target>,
}

/// A container and its health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) check: Check,
    since: u64,
}

impl Watched {
    /// A look begins. Returns its number.
    pub(crate) fn begin(&self) -> u64 {
        let mut state = self.state.lock();
        state.looks += 1;
        state.looks
    }

    /// Updates the set from the look with this number.
    pub(crate) fn end(&self, look: u64, seen: &[ObservedContainer]) {
        let mut state = self.state.lock();
        let wanted: BTreeMap<String, Target> = seen.iter().filter_map(|it| it.target(0)).collect();
        state.runs.retain(|run, it| it.since >= look || wanted.contains_key(run));
        for (run, target) in wanted {
            state.runs.entry(run).or_insert(target);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a container to the set.
    pub(crate) fn add(&self, seen: &ObservedContainer) {
        let mut state = self.state.lock();
        let Some((run, target)) = seen.target(state.looks) else { return };
        state.runs.entry(run).or_insert(target);
        drop(state);
        self.changed.notify_one();
    }

    /// Removes a run from the set: it is about to be stopped.
    pub(crate) fn forget(&self, run: &str) {
        self.state.lock().runs.remove(run);
        self.changed.notify_one();
    }

    pub(crate) fn targets(&self) -> BTreeMap<String, Target> {
        self.state.lock().runs.clone()
    }

    pub(crate) fn runs(&self) -> BTreeSet<String> {
        self.state.lock().runs.keys().cloned().collect()
    }

    /// Resolves when a look ended or a container was added since the last call.
    /// For one waiter.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl ObservedContainer {
    /// The check to run, if the container runs and has one.
    fn target(&self, since: u64) -> Option<(String, Target)> {
        let check = self.care.check.clone().filter(|_| self.status == Status::Running)?;
        Some((self.run.clone(), Target { id: self.id.clone(), check, since }))
    }
}

#[cfg(test)]
mod tests {
    use colony_core::margo::{DeploymentId, Digest};

    use super::*;
    use crate::containers::label::{Care, Owner};

    #[test]
    fn looks_say_what_is_asked() {
        check("look a b", "a b");
        check("look a b, look b c", "b c");
        check("look a b, forget a", "b");
    }

    #[test]
    fn a_look_does_not_take_back_what_was_started_after_it_began() {
        check("begin, add a, end", "a");
        check("begin, add a, end, look", "");
        check("add a, look", "");
    }

    /// Plays looks and starts; `begin` and `end` are one look in two parts.
    #[track_caller]
    fn check(play: &str, expected: &str) {
        let (watched, mut open) = (Watched::default(), 0);
        for line in play.split(", ") {
            let mut words = line.split(' ');
            let word = words.next();
            let all: Vec<ObservedContainer> = words.map(seen).collect();
            match word {
                Some("begin") => open = watched.begin(),
                Some("end") => watched.end(open, &all),
                Some("forget") => all.iter().for_each(|it| watched.forget(&it.run)),
                Some("add") => all.iter().for_each(|it| watched.add(it)),
                _ => watched.end(watched.begin(), &all),
            }
        }
        let runs: Vec<String> = watched.runs().into_iter().collect();
        assert_eq!(runs.join(" "), expected, "{play}");
    }

    fn seen(run: &str) -> ObservedContainer {
        let owner = Owner {
            deployment: DeploymentId::from_bytes([1; 16]),
            component: "web".parse().unwrap(),
            fingerprint: Digest::of(b""),
            staged: false,
            service: run.to_owned(),
        };
        let check = Check::with_defaults(vec!["CMD".to_owned(), "true".to_owned()]);
        ObservedContainer {
            id: run.to_owned(),
            owner,
            care: Care::new(0, None, Some(check)),
            run: run.to_owned(),
            status: Status::Running,
            unborn: false,
        }
    }
}
