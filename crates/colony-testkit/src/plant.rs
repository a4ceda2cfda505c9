//! One site with its nodes, driven by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::event::Event;
use colony_core::id::{DeploymentId, DeploymentName, NodeName, PlacementId, SiteName};
use colony_core::margo::DeploymentStatus;
use colony_core::purge::mark_path;
use colony_core::site::{
    Action, Changed, Command, Commit, File, Have, Input, Refused, Row, RowKey, Site, Step, Timing,
};
use colony_core::time::{Now, Timestamp};

use crate::make::{App, blob, capabilities, commit_id, deployment_id, foreign};
use crate::seed::seed;

/// Noon of some Monday.
const START: Timestamp = Timestamp(1_794_225_600_000);

/// A site, its persisted rows and the nodes that send heartbeats.
#[derive(Debug)]
pub struct Plant {
    pub site: Site,
    pub now: Now,
    pub events: Vec<Event>,
    /// The changes of each step.
    pub changes: Vec<Changed>,
    /// How often the LO was started again.
    pub restarts: u64,
    rows: BTreeMap<RowKey, Row>,
    /// Nodes that send a heartbeat while time passes.
    alive: BTreeSet<NodeName>,
    commits: u64,
    reports: u64,
}

impl Plant {
    /// The site `home`, ready and empty.
    pub fn new() -> Plant {
        let mut plant = Plant::unseeded(0);
        plant.must(Input::Seed(Box::default()));
        plant.commit(vec![]);
        plant
    }

    /// An LO that has just joined as incarnation `incarnation`.
    pub fn unseeded(incarnation: u32) -> Plant {
        let site = Site::new("home".parse().expect("a name"), incarnation, Timing::default());
        let now = Now { wall: START, entropy: 7, ..Now::default() };
        let (events, changes) = (Vec::new(), Vec::new());
        let (rows, alive) = (BTreeMap::new(), BTreeSet::new());
        Plant { site, now, events, changes, restarts: 0, rows, alive, commits: 0, reports: 0 }
    }

    /// The second LO of a site on whose node `a` the app was in `state`, as the
    /// central orchestrator knew it. Git is not read yet.
    pub fn taken_over(app: &App, state: &str) -> Plant {
        let mut plant = Plant::unseeded(1);
        plant.must(Input::Seed(Box::new(seed(app, state))));
        plant
    }

    /// Takes one step and persists it.
    pub fn step(&mut self, input: Input) -> Step {
        let step = self.site.step(input, self.now);
        for key in step.changed.keys() {
            match self.site.row(&key) {
                Some(row) => self.rows.insert(key, row),
                None => self.rows.remove(&key),
            };
        }
        self.events.extend(step.events.iter().cloned());
        self.changes.push(step.changed.clone());
        step
    }

    /// The changes of all steps from number `first`.
    pub fn changed_since(&self, first: usize) -> Changed {
        let mut all = Changed::default();
        self.changes[first..].iter().for_each(|it| all.add(it));
        all
    }

    /// Takes one step that must not be refused.
    #[track_caller]
    pub fn must(&mut self, input: Input) {
        let refused = self.step(input).refused;
        assert_eq!(refused, None);
    }

    /// Kills the LO and starts it again from the persisted rows.
    pub fn crash(&mut self) {
        self.restarts += 1;
        let rows = self.rows.values().cloned();
        self.site = Site::restore(rows, Timing::default()).expect("the rows make a site");
    }

    /// Lets time pass, with a heartbeat of every live node each second.
    pub fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now.mono = self.now.mono.after(Duration::from_secs(1));
            self.now.wall = self.now.wall.after(Duration::from_secs(1));
            self.now.entropy = self.now.entropy.wrapping_mul(6_364_136_223_846_793_005) + 1;
            for node in self.alive.clone() {
                let _ = self.step(Input::Heard { node, have: None });
            }
            let _ = self.step(Input::Tick);
        }
    }

    /// Adds a node that can run compose applications on amd64.
    pub fn join(&mut self, node: &str) {
        self.join_with(node, "amd64", "");
    }

    /// Adds a device of another vendor that implements the same protocol.
    pub fn join_foreign(&mut self, node: &str) {
        let name: NodeName = node.parse().expect("a name");
        self.must(Input::Joined(name.clone()));
        let capabilities = foreign(node, "amd64", "");
        self.must(Input::Capabilities(name.clone(), Box::new(capabilities)));
        self.alive.insert(name);
    }

    pub fn join_with(&mut self, node: &str, architecture: &str, labels: &str) {
        let name: NodeName = node.parse().expect("a name");
        self.must(Input::Joined(name.clone()));
        let capabilities = capabilities(node, architecture, labels);
        self.must(Input::Capabilities(name.clone(), Box::new(capabilities)));
        self.alive.insert(name);
    }

    /// The node sends no further heartbeats.
    pub fn silence(&mut self, node: &str) {
        self.alive.remove(&node.parse::<NodeName>().expect("a name"));
    }

    /// The node sends heartbeats again.
    pub fn wake(&mut self, node: &str) {
        let node: NodeName = node.parse().expect("a name");
        self.alive.insert(node.clone());
        let _ = self.step(Input::Heard { node, have: None });
    }

    /// Commits these files on top of the last commit.
    pub fn commit(&mut self, files: Vec<File>) {
        let base = (self.commits > 0).then(|| commit_id(self.commits));
        self.commits += 1;
        let revision = commit_id(self.commits);
        self.must(Input::Commit(Commit { revision, base, rewritten: false, files }));
    }

    pub fn deploy(&mut self, app: &App) {
        let file = app.file(self.site.name());
        self.commit(vec![file]);
    }

    pub fn undeploy(&mut self, name: &str) {
        let path = format!("deployments/{}/{name}.yaml", self.site.name());
        self.commit(vec![File::removed(&path)]);
    }

    /// The deployment is deleted with its volumes.
    pub fn purge(&mut self, name: &str) {
        let path = format!("deployments/{}/{name}.yaml", self.site.name());
        self.commit(vec![File::removed(&path), mark(self.site.name(), name)]);
    }

    /// The node reports `state`, `failed:<code>`, `failed:<code>|<message>` or
    /// `installing~<milliseconds left of the settle time>` for a deployment, having adopted its newest manifest.
    pub fn report(&mut self, node: &str, name: &str, state: &str) {
        let adopted = self.version(node);
        self.report_at(node, name, state, adopted);
    }

    pub fn report_at(&mut self, node: &str, name: &str, state: &str, adopted: u64) {
        self.report_of(node, &deployment_id(name), state, adopted);
    }

    fn report_of(&mut self, node: &str, id: &DeploymentId, state: &str, adopted: u64) {
        self.reports += 1;
        let status = status(id, state, adopted, self.reports);
        let node = node.parse().expect("a name");
        let _ = self.step(Input::Status { node, status: Box::new(status) });
    }

    /// Every placement in flight reports success until no state changes.
    pub fn converge(&mut self) {
        for _ in 0..200 {
            let under_way: Vec<PlacementId> = self
                .site
                .placements()
                .filter(|it| it.state().is_in_progress() && !it.is_ready_to_take_over())
                .map(|it| it.id.clone())
                .collect();
            for id in &under_way {
                self.report_id(id, "installed");
            }
            let leaving = self.site.placements().filter(|it| it.state().to_string() == "DELETING");
            let leaving: Vec<PlacementId> = leaving.map(|it| it.id.clone()).collect();
            let online = |it: &&PlacementId| self.alive.contains(&it.node);
            let leaving: Vec<PlacementId> = leaving.iter().filter(online).cloned().collect();
            for id in &leaving {
                self.report_id(id, "removed");
            }
            if under_way.is_empty() && leaving.is_empty() {
                return;
            }
        }
        panic!("it does not converge: {}", self.states());
    }

    fn report_id(&mut self, id: &PlacementId, state: &str) {
        let adopted = self.version(id.node.as_str());
        self.report_of(id.node.as_str(), &id.deployment, state, adopted);
    }

    pub fn command(&mut self, action: Action) -> Result<(), String> {
        let command = Command { number: None, by: "ana".to_owned(), expires: None, action };
        match self.step(Input::Command(command)).refused {
            None => Ok(()),
            Some(Refused::Command(reason)) => Err(reason),
            Some(other) => Err(other.to_string()),
        }
    }

    pub fn poll_with(&mut self, node: &str, version: u64) {
        let node = node.parse().expect("a name");
        self.must(Input::Heard { node, have: Some(Have { version, etag: None }) });
    }

    /// The version of a node's manifest.
    pub fn version(&self, node: &str) -> u64 {
        let node: NodeName = node.parse().expect("a name");
        self.site.site_node(&node).map_or(0, |it| it.version())
    }

    /// `hello@a INSTALLED 1.0.0, hello@b PENDING`.
    pub fn states(&self) -> String {
        let states: Vec<String> = self.site.placements().map(|it| self.state_of(&it.id)).collect();
        let mut states = states;
        states.sort();
        states.join(", ")
    }

    fn state_of(&self, id: &PlacementId) -> String {
        let placement = self.site.placement(id).expect("a placement");
        let deployment = self.site.deployment(&id.deployment).expect("a deployment");
        let target = placement.revisions.target.as_ref();
        let document = target.and_then(|it| deployment.document(it));
        let version =
            document.map(|it| it.spec.spec.profile.components[0].properties.revision.to_string());
        let version = version.map(|it| format!(" {it}")).unwrap_or_default();
        let staged = if placement.is_ready_to_take_over() { " staged" } else { "" };
        format!("{}@{} {}{version}{staged}", deployment.name, id.node, placement.state())
    }

    pub fn placement(&self, node: &str, name: &str) -> PlacementId {
        PlacementId { deployment: deployment_id(name), node: node.parse().expect("a name") }
    }

    pub fn name(name: &str) -> DeploymentName {
        name.parse().expect("a name")
    }
}

impl Default for Plant {
    fn default() -> Plant {
        Plant::new()
    }
}

/// The mark in Git that the volumes of the deployment are to be removed.
pub fn mark(site: &SiteName, name: &str) -> File {
    let path = mark_path(site, &deployment_id(name));
    File::read(site, &path, &blob(""), b"")
}

/// A report as a node sends it; `state` as in `Plant::report`.
pub fn status(id: &DeploymentId, state: &str, adopted: u64, report: u64) -> DeploymentStatus {
    let (state, settling) = state.split_once('~').unwrap_or((state, ""));
    let (state, running) = state.split_once('+').unwrap_or((state, ""));
    let (state, code) = state.split_once(':').unwrap_or((state, ""));
    let (code, message) = code.split_once('|').unwrap_or((code, "it went wrong"));
    let error = match code {
        "" => String::new(),
        code => format!(r#","error":{{"code":"{code}","source":"web","message":"{message}"}}"#),
    };
    let running = match running {
        "" => String::new(),
        code => format!(r#","running":{{"code":"{code}","source":"web","message":"no answer"}}"#),
    };
    let settling = match settling {
        "" => String::new(),
        rest => format!(r#","settling":{rest}"#),
    };
    let json = format!(
        r#"{{"deploymentId":"{id}","adoptedManifestVersion":{adopted},"status":{{"state":"{state}"{error}}},
        "components":[{{"name":"web","state":"{state}"{error}}}],"x-colony-extensions":{{"report":{report}{running}{settling}}}}}"#
    );
    DeploymentStatus::parse(json.as_bytes()).expect("a valid status").value
}
