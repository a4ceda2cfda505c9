//! The state of a world: the roles, the lines between them, and the remaining
//! bounds.

pub(crate) mod act;
mod central;
pub(crate) mod fate;
mod former;
mod happen;
mod host;
pub(crate) mod line;
mod local;
pub(crate) mod node;
pub(crate) mod time;
pub(crate) mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use colony_core::event::{Incarnation, Seq};
use colony_core::id::{DeploymentId, PlacementId, SiteName};
use colony_core::margo::Digest;
use colony_core::site::{Action, Input};
use colony_core::state::State;
use colony_world::{App, deployment_id};
use colony_world::{
    CentralShell, Device, JoinShell, Local, LocalShell, NodeShell, Pace, Roles, Shared, ToCentral,
    ToLocal, ToNode,
};

use crate::check::Broken;
use crate::plan::{Bounds, Op, Plan};
use crate::world::fate::Trail;
use crate::world::line::Line;
use crate::world::node::Doing;
use crate::world::time::{START, policy, timing};

/// The orchestrator in charge.
pub(crate) const LOCAL: usize = 0;
/// The orchestrator before it, if it does not know that it was replaced.
pub(crate) const FORMER: usize = 1;
/// The name of the only deployment.
const NAME: &str = "pump";
const TIMES: &str = "progressDeadline: 40s\nsoak: 10s\nretry: {installs: 1, updates: 1}";

/// One state of a world. Roles are shared between states until they step.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) plan: Arc<Plan>,
    pub(crate) now: u64,
    pub(crate) site: SiteName,
    pub(crate) roles: Roles,
    /// The orchestrator whose step is checked: `LOCAL` or `FORMER`.
    pub(crate) acting: usize,
    /// Actions that the engine of each node has not finished.
    pub(crate) doing: Vec<Vec<Doing>>,
    pub(crate) up: Vec<Line<ToLocal>>,
    pub(crate) down: Vec<Line<ToNode>>,
    pub(crate) out: Line<ToCentral>,
    pub(crate) back: Line<ToLocal>,
    /// The acknowledged position: the next event of each incarnation.
    pub(crate) acked: BTreeMap<Incarnation, Seq>,
    /// How much of the script was executed.
    pub(crate) done: usize,
    pub(crate) left: Bounds,
    /// The newest manifest each node was served.
    pub(crate) served: Vec<Option<(u64, Digest)>>,
    /// The deployment was removed from Git, or has no version to roll back to.
    pub(crate) removed: bool,
    pub(crate) reverted: bool,
    /// An operator has promoted the rollout.
    pub(crate) promoted: bool,
    /// The takeover of a staged revision was opened.
    pub(crate) opened: bool,
    /// The newest revision was aborted.
    pub(crate) aborted: bool,
    /// A join was tried, and the central orchestrator did not answer.
    pub(crate) interrupted: bool,
    /// The placements in the seed of an orchestrator that is being seeded.
    pub(crate) seeded: BTreeMap<PlacementId, State>,
    pub(crate) broken: Option<Arc<Broken>>,
    /// The steps of the present act.
    pub(crate) trail: Trail,
    /// The orchestrator before its present step.
    pub(crate) before: Option<Shared<Local>>,
    /// The looks at an engine within the present step.
    pub(crate) looks: u32,
    /// The central orchestrator has answered the present message.
    pub(crate) answered: bool,
    /// Messages are not part of the trace.
    pub(crate) quiet: bool,
    /// The trace of the last act.
    pub(crate) said: Vec<String>,
    /// The digest of this state.
    pub(crate) print: u64,
}

impl World {
    /// The initial state of a plan.
    pub(crate) fn new(plan: Arc<Plan>) -> World {
        let site: SiteName = "home".parse().expect("a name");
        let nobody = Local::new(site.clone(), 0, timing());
        let count = plan.nodes.len();
        let pace = Pace { exits_after: Duration::ZERO, health_checks: false };
        let node = |it: &&str| Device::new(it.parse().expect("a name"), LOCAL, policy(), pace);
        let roles = Roles {
            sites: vec![Shared::new(nobody)],
            nodes: plan.nodes.iter().map(node).map(Shared::new).collect(),
            ..Roles::default()
        };
        let mut world = World {
            now: START,
            site,
            roles,
            acting: LOCAL,
            doing: vec![Vec::new(); count],
            up: vec![Line::default(); count],
            down: vec![Line::default(); count],
            out: Line::default(),
            back: Line::default(),
            acked: BTreeMap::new(),
            done: 0,
            left: plan.bounds,
            served: vec![None; count],
            removed: false,
            reverted: false,
            promoted: false,
            opened: false,
            aborted: false,
            interrupted: false,
            seeded: BTreeMap::new(),
            broken: None,
            trail: Trail::default(),
            before: None,
            looks: 0,
            answered: false,
            quiet: false,
            said: Vec::new(),
            print: 0,
            plan,
        };
        world.found();
        world
    }

    fn found(&mut self) {
        self.replace_local();
        self.roles.sites.truncate(FORMER);
        self.local_seed(LOCAL);
        self.local_fetch(LOCAL);
        for node in 0..self.roles.nodes.len() {
            let name = self.roles.nodes[node].name.clone();
            let _ = self.local_step(LOCAL, Input::Joined(name));
            self.node_begin(node);
            self.talk(node);
        }
        let settings = if self.plan.settled { "" } else { self.plan.settings };
        let first = self.plan.first.map(|it| self.text(it, settings));
        self.push(first);
        if self.plan.settled {
            let calm = self.calm_down();
            assert_eq!(calm, Ok(()), "the world `{}` does not begin", self.plan.name);
        }
        (self.promoted, self.opened, self.aborted) = (false, false, false);
        self.trail = Trail::default();
        self.said.clear();
        self.left = self.plan.bounds;
        self.note();
    }

    /// The file of the only deployment.
    pub(crate) fn path(&self) -> String {
        format!("deployments/{}/{NAME}.yaml", self.site)
    }

    fn push(&mut self, text: Option<String>) {
        let path = self.path();
        self.roles.git.commit(vec![(path, text)]);
    }

    /// The orchestrator that acts.
    pub(crate) fn local(&self) -> &Local {
        &self.roles.sites[self.acting]
    }

    fn text(&self, version: &str, settings: &str) -> String {
        let settings = [settings, TIMES].join("\n");
        App::new(NAME, version).with(&settings).text(&self.site)
    }

    pub(crate) fn deployment(&self) -> DeploymentId {
        deployment_id(NAME)
    }

    pub(crate) fn is_prompt(&self) -> bool {
        self.plan.prompt
    }

    pub(crate) fn say(&mut self, line: String) {
        self.said.push(line);
    }

    pub(crate) fn send_up(&mut self, node: usize, message: ToLocal) {
        let room = self.plan.bounds.room;
        self.up[node].send(message, room);
    }

    /// Executes the next operation of the script; one without an answer is
    /// repeated.
    pub(crate) fn operate(&mut self) {
        let Some(op) = self.plan.script.get(self.done).copied() else { return };
        let deployment = self.deployment();
        let answered = match op {
            Op::Push(version) => {
                self.say(format!("an operator commits {NAME} {version}"));
                let text = self.text(version, self.plan.settings);
                self.push(Some(text));
                true
            }
            Op::Delete => {
                self.say(format!("an operator removes {NAME} from Git"));
                self.removed = true;
                self.push(None);
                true
            }
            Op::Replace => self.replace_local(),
            Op::Release => self.command(Action::ReleaseQuarantine { deployment }),
            Op::Rollback => self.command(Action::Rollback { deployment }),
            Op::Promote => {
                self.promoted = true;
                self.command(Action::Promote { deployment })
            }
            Op::Abort => self.command(Action::Abort { deployment, note: String::new() }),
        };
        self.done += usize::from(answered);
    }

    fn command(&mut self, action: Action) -> bool {
        self.say(format!("an operator asks: {action:?}"));
        if !self.is_prompt() {
            return self.central_command(LOCAL, action);
        }
        let command =
            colony_core::site::Command { number: None, by: "ana".into(), expires: None, action };
        self.local_step(LOCAL, Input::Command(command)).is_some()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.said.join("; "))
    }
}
