//! The containers of a fleet: which of them have to stay, and which run.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::kit::wait;

impl Bed {
    /// Containers that came since those that are to stay.
    pub(crate) fn fresh(&self) -> Vec<String> {
        let all = self.fleet.containers().into_keys();
        all.filter(|it| !self.containers.contains_key(it)).collect()
    }

    /// The fault has stopped everything that runs: a reason to start it again,
    /// once.
    pub(crate) fn everything_stops(&mut self) {
        self.containers.clear();
    }

    /// What was stopped is back: from here on nobody has a reason to touch it.
    #[track_caller]
    pub(crate) fn all_run_again(&mut self, count: usize) {
        self.all_run(count);
        let kept = self.containers_of(KEPT);
        assert!(!kept.is_empty(), "`{KEPT}` has no container");
        self.containers = kept;
    }

    /// The containers of a deployment, by container and when it started.
    pub(crate) fn containers_of(&self, name: &str) -> BTreeMap<String, String> {
        let own = self.labelled(name, |_| true);
        self.fleet.containers().into_iter().filter(|it| own.contains(&it.0)).collect()
    }

    /// Ids of a deployment's containers that are like that, running or not.
    pub(crate) fn labelled(&self, name: &str, like: impl Fn(&Value) -> bool) -> Vec<String> {
        let shown = self.fleet.json(["deployment", "show", name]);
        let id = shown["sites"][0]["id"].clone();
        let all = self.fleet.engine.as_ref().unwrap().list();
        let own = |it: &&Value| it["Labels"]["colony.deployment"] == id && like(it);
        let text = |it: &Value| it["Id"].as_str().unwrap().to_owned();
        all.iter().filter(own).map(text).collect()
    }

    /// So many containers run.
    #[track_caller]
    pub(crate) fn all_run(&self, count: usize) {
        wait("the workloads to run again", || (self.running() == count).then_some(()));
    }

    /// How many containers run; what only waits to be started does not.
    pub(crate) fn running(&self) -> usize {
        let all = self.fleet.engine.as_ref().unwrap().list();
        all.iter().filter(|it| it["State"] == "running").count()
    }

    /// The site goes on and writes its log, without help.
    #[track_caller]
    pub(crate) fn work_at_site(&self) {
        let socket = self.fleet.path().join("home/local/local.sock").display().to_string();
        self.fleet.colony(["node", "cordon", "home/n1", "--socket", &socket]).ok();
        let show = ["node", "show", "home/n1", "--socket", &socket];
        wait("the cordon", || Some(()).filter(|()| self.fleet.json(show)["cordoned"] == true));
        self.fleet.colony(["node", "uncordon", "home/n1", "--socket", &socket]).ok();
    }
}
