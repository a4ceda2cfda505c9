//! The engine of the simulation against the list of behaviours that every real
//! engine has, as far as it simulates them.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[expect(dead_code, reason = "the page with the other engines is printed where they are")]
#[path = "../../colony-runtime/tests/conformance/mod.rs"]
mod conformance;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{ApplicationDeployment, DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use colony_world::{Engine, Pace, Registry};

use conformance::{App, Bench, Damage, EngineColumn, LinePage, Node, Version};

/// How much virtual time passes between two looks, in milliseconds.
const LOOK: u64 = 500;
/// The virtual time after which nothing more is expected.
const END: u64 = 3_600_000;

#[tokio::test]
async fn simulator_conforms() {
    let engine = Rc::new(RefCell::new(Engine::new(Pace::default())));
    let node = SimulatedNode { engine, now: Rc::default() };
    conformance::run_all(&mut SimulatorBench { node }).await;
}

struct SimulatorBench {
    node: SimulatedNode,
}

/// A node has no state beside its engine's here: its core is not part of this.
#[derive(Clone)]
struct SimulatedNode {
    engine: Rc<RefCell<Engine>>,
    now: Rc<Cell<u64>>,
}

impl Bench for SimulatorBench {
    type Node = SimulatedNode;

    fn engine(&self) -> EngineColumn {
        EngineColumn::Simulator
    }

    fn node(&self) -> &SimulatedNode {
        &self.node
    }

    async fn restart_node(&mut self) {
        self.node = self.node.clone();
    }

    async fn other_node(&self) -> SimulatedNode {
        unreachable!("each device has an engine of its own")
    }

    /// The last number of a version is its behaviour; with an even one it has
    /// a health check.
    fn publish(&self, name: &str, version: Version) -> App {
        let version = match version {
            Version::One => "1.0.2",
            Version::Two => "1.0.4",
            Version::Exits => "1.0.6",
        };
        let mut id = [0; 16];
        id.copy_from_slice(&Digest::of(name.as_bytes()).as_bytes()[..16]);
        let id = DeploymentId::from_bytes(id);
        let text = format!(
            "id: {id}\nmetadata: {{ name: {name}, namespace: default, deviceId: n1 }}\nspec:\n  \
             applicationId: {name}\n  deploymentProfile:\n    type: compose\n    components:\n      \
             - name: web\n        properties: {{ repository: \"oci://r/{name}\", revision: {version} }}\n"
        );
        App::new(ApplicationDeployment::parse(text.as_bytes()).unwrap().value)
    }

    fn break_check(&self, _app: &App) {
        self.node.engine.borrow_mut().flaps_until = END;
    }

    fn damages(&self) -> &'static [Damage] {
        &[Damage::Ended]
    }

    fn damage(&self, _app: &App, _how: Damage) {
        assert!(self.node.engine.borrow_mut().kill(0, self.node.now.get()));
    }

    fn stop_engine(&mut self) {
        self.node.engine.borrow_mut().down_until = END;
    }

    fn start_engine(&mut self) {
        self.node.engine.borrow_mut().down_until = 0;
    }

    fn remains(&self, app: &App) -> Vec<String> {
        let all = self.node.engine.borrow().deployments();
        all.iter().filter(|it| **it == app.id()).map(ToString::to_string).collect()
    }

    fn is_fetched(&self, _app: &App) -> bool {
        unreachable!("images take no space")
    }
}

impl Node for SimulatedNode {
    async fn perform(&self, action: Action, app: &App) -> Result<Prepared, Failure> {
        let revision = app.component.properties.revision.as_ref();
        let now = self.now.get();
        if matches!(action, Action::Remove { .. }) {
            // A check that was broken goes with its container.
            self.engine.borrow_mut().flaps_until = now;
        }
        self.engine.borrow_mut().perform(&action, Some(revision), now, Registry::Open)
    }

    async fn observe(&self, _known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        let away = || Failure::new(Code::EngineUnavailable, "the socket does not answer");
        self.engine.borrow().list(self.now.get()).ok_or_else(away)
    }

    async fn changed(&self) {
        let now = self.now.get() + LOOK;
        assert!(now < END, "nothing more happens");
        self.now.set(now);
    }

    async fn collect(&self, _needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        unreachable!("images take no space")
    }

    async fn lines(&self, _app: &App, _after: &str, _limit: u32) -> LinePage {
        unreachable!("its containers print one line, when they end")
    }
}
