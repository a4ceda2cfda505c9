//! A site to which things happen, and what must hold after each of them.

use std::collections::BTreeMap;

use colony_core::event::{Body, Event, Transition, verify};
use colony_core::id::{NodeName, PlacementId};
use colony_core::site::{
    Command, Commit, File, Have, Input, Row, RowKey, Seed, Site, Step, Timing,
};
use colony_core::state::State;
use colony_core::time::{Monotonic, Now, Timestamp};
use colony_core::transition::is_legal;
use colony_margo::{Digest, ManifestVersion};
use colony_testkit::{App, blob, capabilities, commit_id, deployment_id};

use crate::happening::{Base, Claim, Happening, Number, Written};

pub(crate) struct World {
    site: Site,
    now: Now,
    rows: BTreeMap<RowKey, String>,
    /// The state of each placement as the events told it.
    states: BTreeMap<PlacementId, State>,
    versions: BTreeMap<NodeName, u64>,
    commits: u64,
    incarnation: u32,
}

impl World {
    /// A site that is ready, with two nodes that are heard.
    pub(crate) fn new() -> World {
        let now = Now { wall: Timestamp(1_794_225_600_000), ..Now::default() };
        let site = Site::new("home".parse().expect("a name"), 0, Timing::default());
        let (rows, states, versions) = Default::default();
        let mut world = World { site, now, rows, states, versions, commits: 0, incarnation: 0 };
        world.step(Input::Seed(Box::default()));
        world.happen(Happening::Commit { files: vec![], base: Base::Right, rewritten: false });
        for node in ["a", "b"].map(|it| it.parse::<NodeName>().expect("a name")) {
            world.happen(Happening::Join(node.clone()));
            world.happen(Happening::Capable { node, architecture: "amd64" });
        }
        world
    }

    pub(crate) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Commit { files, base, rewritten } => self.commit(&files, base, rewritten),
            Happening::Join(node) => self.step(Input::Joined(node)),
            Happening::Capable { node, architecture } => {
                let it = capabilities(node.as_str(), architecture, r#""zone":"north""#);
                self.step(Input::Capabilities(node, Box::new(it)));
            }
            Happening::Heard { node, have } => {
                let have = have.map(|it| self.have(&node, it));
                self.step(Input::Heard { node, have });
            }
            Happening::Status { node, adopted, mut status } => {
                let adopted = ManifestVersion::new(self.number(&node, adopted));
                status.adopted_manifest_version = adopted.unwrap_or(ManifestVersion::FIRST);
                self.step(Input::Status { node, status });
            }
            Happening::Command { number, expired, action } => {
                let expires = expired.then_some(Timestamp(0));
                let by = "ana".to_owned();
                self.step(Input::Command(Command { number, by, expires, action }));
            }
            Happening::Pass { mono, wall, entropy } => {
                let mono = Monotonic(self.now.mono.0.saturating_add(mono));
                self.now = Now { mono, wall: Timestamp(wall), entropy };
                self.step(Input::Tick);
            }
            Happening::Fence { by } => self.step(Input::Fenced { by }),
            Happening::Crash => self.site = self.restored(),
            Happening::TakeOver { seed, files } => self.take_over(*seed, &files),
        }
    }

    /// The version of a node's manifest.
    pub(crate) fn version(&self, node: &str) -> u64 {
        let node: NodeName = node.parse().expect("a name");
        self.site.site_node(&node).map_or(0, |it| it.version())
    }

    fn commit(&mut self, files: &[Written], base: Base, rewritten: bool) {
        self.commits += 1;
        let base = match base {
            Base::Right => self.site.git().cloned(),
            Base::Other => Some(commit_id(999)),
            Base::Everything => None,
        };
        let files = files.iter().map(|it| self.file(it)).collect();
        let revision = commit_id(self.commits);
        self.step(Input::Commit(Commit { revision, base, rewritten, files }));
    }

    fn file(&self, written: &Written) -> File {
        let site = self.site.name();
        let path = |name: &str| format!("deployments/{site}/{name}.yaml");
        let (path, text) = match written {
            Written::App(app) => (path(&app.name), app.text(site)),
            Written::Clash { name, id } => {
                let text = App::new(name, "1.0.0").text(site);
                let own = deployment_id(name).to_string();
                (path(name), text.replace(&own, deployment_id(id).as_ref()))
            }
            Written::Broken { name } => (path(name), "id: 7\n".to_owned()),
            Written::Gone { name } => return File::removed(&path(name)),
            Written::Site(text) => (format!("sites/{site}.yaml"), (*text).to_owned()),
        };
        File::read(site, &path, &blob(&text), text.as_bytes())
    }

    fn have(&self, node: &NodeName, claim: Claim) -> Have {
        let own = self.site.manifest(node).map(|it| it.etag);
        let etag = claim.etag.and_then(|right| match right {
            true => own.ok(),
            false => Some(Digest::of(b"something else")),
        });
        Have { version: self.number(node, claim.version), etag }
    }

    fn number(&self, node: &NodeName, number: Number) -> u64 {
        let current = self.site.site_node(node).map_or(1, |it| it.version());
        match number {
            Number::Current => current,
            Number::Older => current.saturating_sub(1),
            Number::Newer => current.saturating_add(1),
            Number::Exactly(number) => number,
        }
    }

    /// The orchestrator and its disk are gone; CO tells the next one this.
    fn take_over(&mut self, seed: Seed, files: &[Written]) {
        self.incarnation += 1;
        let name = self.site.name().clone();
        self.site = Site::new(name, self.incarnation, Timing::default());
        self.rows.clear();
        self.versions.clear();
        self.states = seed.placements.iter().map(|it| (it.id.clone(), it.state)).collect();
        self.step(Input::Seed(Box::new(seed)));
        self.commit(files, Base::Everything, false);
    }

    fn step(&mut self, input: Input) {
        let is_seed = matches!(input, Input::Seed(_));
        let log = self.site.log().clone();
        let step = self.site.step(input, self.now);
        self.persist(&step);
        assert_eq!(verify(log, &step.events).as_ref(), Ok(self.site.log()));
        self.check_events(&step.events);
        if is_seed {
            // Placements of an unknown deployment or node are left out.
            self.states.retain(|it, _| self.site.placement(it).is_some());
        }
        let states = self.site.placements().map(|it| (it.id.clone(), it.state())).collect();
        assert_eq!(self.states, states, "every change of state has its event");
        self.check_versions();
        self.check_refusal(&step);
        self.check_restored();
    }

    fn persist(&mut self, step: &Step) {
        for key in step.changed.keys() {
            match self.site.row(&key) {
                Some(row) => {
                    let text = serde_json::to_string(&row).expect("rows are JSON");
                    self.rows.insert(key, text)
                }
                None => self.rows.remove(&key),
            };
        }
    }

    fn check_events(&mut self, events: &[Event]) {
        for event in events {
            if let Body::StateTransition(it) = &event.body {
                self.check_transition(it);
            }
            if let Body::NodeRetired { node } = &event.body {
                self.versions.remove(node);
            }
        }
    }

    fn check_transition(&mut self, it: &Transition) {
        let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
        assert!(is_legal(it.from, it.trigger, it.to), "{it:?}");
        assert_eq!(it.from, self.states.get(&id).copied(), "{it:?}");
        if it.to == State::Deleted {
            self.states.remove(&id);
        } else {
            self.states.insert(id, it.to);
        }
    }

    fn check_versions(&mut self) {
        for site_node in self.site.site_nodes() {
            let before = self.versions.insert(site_node.name.clone(), site_node.version());
            let back = before.is_some_and(|it| it > site_node.version());
            assert!(!back, "{} went from {before:?} to {}", site_node.name, site_node.version());
        }
    }

    fn check_refusal(&self, step: &Step) {
        if let Some(refused) = &step.refused {
            assert!(!refused.to_string().is_empty(), "{refused:?}");
        }
    }

    /// A restart finds what the site was.
    fn check_restored(&self) {
        let back = self.restored();
        let placements = |it: &Site| it.placements().cloned().collect::<Vec<_>>();
        assert_eq!(placements(&back), placements(&self.site));
        let manifests = |site: &Site| -> Vec<_> {
            let manifest = |it| site.manifest(it).map(|it| (it.version, it.etag));
            site.site_nodes()
                .map(|it| (it.name.clone(), it.version(), manifest(&it.name)))
                .collect()
        };
        assert_eq!(manifests(&back), manifests(&self.site));
        let rest = |it: &Site| {
            let deployments: Vec<_> =
                it.deployments().map(|it| (it.id.clone(), it.accepted().clone())).collect();
            let git = (it.git().cloned(), it.held_removal().cloned(), it.held_history().cloned());
            (it.log().clone(), it.holds().clone(), it.commands_done(), deployments, git)
        };
        assert_eq!(rest(&back), rest(&self.site));
        assert_eq!(back.fenced_by(), self.site.fenced_by());
    }

    fn restored(&self) -> Site {
        let row = |it: &String| serde_json::from_str::<Row>(it).expect("a row reads back");
        Site::restore(self.rows.values().map(row), Timing::default()).expect("rows make a site")
    }
}
