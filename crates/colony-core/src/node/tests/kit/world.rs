//! The world around a node: manager, shell and disk.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_margo::{
    Capabilities, DeploymentId, DeploymentStatus, Digest, ManifestVersion, StateManifest,
};
use serde_json::json;

use crate::document::EXTENSION;
use crate::node::tests::kit::fake::{Behaviour, ContainerKey, Fake};
use crate::node::{Action, Container, Input, Node, Policy, Row, Step};
use crate::purge::Cleanup;
use crate::time::{Monotonic, Now, Timestamp};

pub(in crate::node::tests) struct World {
    pub(in crate::node::tests) node: Node,
    pub(in crate::node::tests) disk: BTreeMap<String, String>,
    pub(in crate::node::tests) engine: BTreeMap<ContainerKey, Fake>,
    pub(in crate::node::tests) images: BTreeSet<Digest>,
    pub(in crate::node::tests) behaviours: BTreeMap<String, Behaviour>,
    /// What was pushed again under the same tag since it was fetched.
    pub(in crate::node::tests) corrected: BTreeSet<String>,
    pub(in crate::node::tests) registry_down: bool,
    pub(in crate::node::tests) engine_down: bool,
    /// The second engine, which runs charts.
    pub(in crate::node::tests) cluster_down: bool,
    pub(in crate::node::tests) removal_fails: bool,
    /// Actions are accepted but not carried out.
    pub(in crate::node::tests) hung: bool,
    pub(in crate::node::tests) desired: BTreeMap<DeploymentId, Vec<u8>>,
    /// The deployments that the manifest lists to be purged.
    pub(in crate::node::tests) purges: BTreeSet<DeploymentId>,
    /// Those whose images are not to be kept.
    pub(in crate::node::tests) discards: BTreeSet<DeploymentId>,
    pub(in crate::node::tests) manifest: Vec<u8>,
    pub(in crate::node::tests) version: u64,
    pub(in crate::node::tests) now: Now,
    /// Actions that were begun, with the title of what they are about.
    pub(in crate::node::tests) queue: BTreeMap<DeploymentId, (Action, String)>,
    pub(in crate::node::tests) trace: Vec<String>,
    /// The last report received for each deployment.
    pub(in crate::node::tests) heard: BTreeMap<String, String>,
    pub(in crate::node::tests) numbers: Vec<u64>,
    pub(in crate::node::tests) deaf: bool,
    /// The number of points at which the process may die, and the one at which
    /// it does.
    pub(in crate::node::tests) moments: usize,
    pub(in crate::node::tests) dies_at: Option<usize>,
    pub(in crate::node::tests) runs: u32,
}

impl World {
    pub(in crate::node::tests) fn new() -> World {
        let mut world = World {
            node: fresh([]),
            disk: BTreeMap::new(),
            engine: BTreeMap::new(),
            images: BTreeSet::new(),
            behaviours: BTreeMap::new(),
            corrected: BTreeSet::new(),
            registry_down: false,
            engine_down: false,
            cluster_down: false,
            removal_fails: false,
            hung: false,
            desired: BTreeMap::new(),
            purges: BTreeSet::new(),
            discards: BTreeSet::new(),
            manifest: Vec::new(),
            version: 0,
            now: Now { mono: Monotonic(0), wall: Timestamp(1_000_000), entropy: 0 },
            queue: BTreeMap::new(),
            trace: Vec::new(),
            heard: BTreeMap::new(),
            numbers: Vec::new(),
            deaf: false,
            moments: 0,
            dies_at: None,
            runs: 0,
        };
        world.boot();
        world
    }

    /// The process starts from what is on disk.
    pub(in crate::node::tests) fn boot(&mut self) {
        let rows = self.disk.values().map(|it| serde_json::from_str::<Row>(it).expect("a row"));
        self.node = fresh(rows.collect::<Vec<_>>());
        self.queue.clear();
        self.now.mono = self.now.mono.max(self.node.clock());
        self.feed(Input::Capabilities(Box::new(capabilities())));
        self.look();
    }

    /// Gives an input and stores what changed. Returns whether that survived.
    pub(in crate::node::tests) fn feed(&mut self, input: Input) -> bool {
        let step = self.node.step(input, self.now);
        assert_eq!(step.rejection, None);
        if self.dies() {
            return false;
        }
        self.store(&step);
        for action in step.actions {
            let title = self.title(&action);
            self.queue.insert(action.deployment().clone(), (action, title));
        }
        !self.dies()
    }

    fn store(&mut self, step: &Step) {
        for key in &step.changed {
            match self.node.row(key) {
                Some(row) => {
                    let text = serde_json::to_string(&row).expect("rows are JSON");
                    self.disk.insert(key.to_string(), text);
                }
                None => _ = self.disk.remove(&key.to_string()),
            }
        }
    }

    /// One more moment has passed; at the chosen one everything in memory is lost.
    fn dies(&mut self) -> bool {
        self.moments += 1;
        let dies = self.dies_at.is_some_and(|it| it < self.moments);
        if dies {
            self.dies_at = None;
            self.boot();
        }
        dies
    }

    /// Changes the manifest that the manager offers.
    pub(in crate::node::tests) fn publish(&mut self) {
        self.version += 1;
        let version = ManifestVersion::new(self.version).expect("a version");
        let documents: Vec<(DeploymentId, Vec<u8>)> =
            self.desired.iter().map(|(id, it)| (id.clone(), it.clone())).collect();
        let mut manifest = StateManifest::new(version, &documents).0;
        let cleanup = Cleanup { volumes: self.purges.clone(), images: self.discards.clone() };
        if !cleanup.is_empty() {
            manifest.extensions.insert(EXTENSION, cleanup.to_extension());
        }
        self.manifest = manifest.to_bytes();
    }

    /// Lets this many seconds pass, with everything that happens in them.
    pub(in crate::node::tests) fn run(&mut self, seconds: u64) {
        for _ in 0..=seconds {
            self.work();
            self.now.mono = self.now.mono.after(Duration::from_secs(1));
            self.now.wall = self.now.wall.after(Duration::from_secs(1));
            self.look();
        }
    }

    /// Does everything that can be done without time passing.
    pub(in crate::node::tests) fn work(&mut self) {
        self.poll();
        self.report();
        for _ in 0..200 {
            if self.hung {
                return;
            }
            let Some((_, (action, title))) = self.queue.pop_first() else { return };
            self.act(action, &title);
            self.poll();
            self.report();
        }
        panic!("the node never rests: {:?}", self.trace);
    }

    pub(in crate::node::tests) fn poll(&mut self) {
        if self.manifest.is_empty() {
            return;
        }
        let etag = Some(format!("\"{}\"", Digest::of(&self.manifest)));
        let fetch = self.node.check(&self.manifest, etag.as_deref()).expect("a good manifest");
        let Some(fetch) = fetch else { return };
        let wanted = fetch.missing.iter().map(|(id, it)| (*it, self.desired[id].clone()));
        let documents = wanted.collect();
        self.feed(Input::Manifest { bytes: self.manifest.clone(), etag, documents });
    }

    fn report(&mut self) {
        for status in self.node.reports() {
            let number = status.colony.as_ref().and_then(|it| it.report).expect("a number");
            let id: DeploymentId = status.deployment_id.parse().expect("an id");
            let name = crate::node::tests::kit::script::name_of(&id);
            let text = status_line(&name, &status);
            if self.deaf {
                continue;
            }
            let settling = status.colony.as_ref().is_some_and(|it| it.settling.is_some());
            let repeated =
                self.heard.get(&name) == Some(&text) && (text.ends_with("installing") || settling);
            if !repeated && self.numbers.last() != Some(&number) {
                self.trace.push(text.clone());
            }
            self.heard.insert(name, text);
            self.numbers.push(number);
            self.feed(Input::Acked { deployment: id, report: number });
        }
    }

    /// Observes the engine.
    pub(in crate::node::tests) fn look(&mut self) {
        if self.engine_down {
            self.feed(Input::Tick);
            return;
        }
        if self.node.version().is_some() {
            let needed = self.node.needed();
            self.images.retain(|it| needed.contains(it));
        }
        let (taken, mut containers) = (self.now.mono, self.containers());
        if !self.cluster_down {
            self.feed(Input::Observed { taken, containers });
            return;
        }
        containers.retain(|it| !self.is_chart(&it.deployment));
        let away = BTreeSet::from(["helm".to_owned()]);
        self.feed(Input::ObservedInPart { taken, containers, away });
    }

    pub(in crate::node::tests) fn is_chart(&self, id: &DeploymentId) -> bool {
        let text = self.desired.get(id).map(|it| String::from_utf8_lossy(it));
        text.is_some_and(|it| it.contains("\"helm\""))
    }

    pub(in crate::node::tests) fn containers(&self) -> Vec<Container> {
        let container = |(place, fake): (&ContainerKey, &Fake)| Container {
            deployment: place.0.clone(),
            component: place.1.clone(),
            fingerprint: place.2,
            staged: place.4,
            service: place.3.clone(),
            run: fake.run.to_string(),
            status: fake.status,
            health: fake.health.clone(),
            log: vec![format!("last words of {}", fake.title)],
        };
        self.engine.iter().map(container).collect()
    }

    /// Carries out an action, passes on its result, and observes the engine
    /// again.
    fn act(&mut self, action: Action, title: &str) {
        let result = self.perform(&action, title);
        if self.dies() || !self.feed(Input::Done { action, result }) {
            return;
        }
        self.look();
    }
}

/// A report as one line; a failure without a component shows no source.
fn status_line(name: &str, status: &DeploymentStatus) -> String {
    let state = status.status.state;
    let running = status.colony.as_ref().and_then(|it| it.running.as_ref());
    if let Some(error) = running {
        return format!("{name}: {state} beside {} {}", error.code, error.source);
    }
    let Some(error) = &status.status.error else { return format!("{name}: {state}") };
    if error.source == status.deployment_id {
        return format!("{name}: {state} {}", error.code);
    }
    format!("{name}: {state} {} {}", error.code, error.source)
}

pub(in crate::node::tests) fn fresh(rows: impl IntoIterator<Item = Row>) -> Node {
    Node::restore("press-1".parse().expect("an id"), Policy::default(), rows)
}

pub(in crate::node::tests) fn capabilities() -> Capabilities {
    let text = json!({
        "properties": {
            "id": "press-1", "vendor": "v", "modelNumber": "m", "serialNumber": "s",
            "cpus": [{ "cores": 4, "architecture": "amd64" }],
            "memory": "4Gi", "storage": "10Gi", "otelCollector": true,
            "supportedRuntimes": ["oci"], "supportedDeploymentTypes": ["compose", "helm"],
        },
        "labels": { "hall": "north" },
    });
    Capabilities::parse(text.to_string().as_bytes()).expect("good capabilities").value
}
