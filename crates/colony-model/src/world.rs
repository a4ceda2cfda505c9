//! The state of a world: the roles, the lines between them, and what is left.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use colony_core::id::{DeploymentId, PlacementId, SiteName};
use colony_core::site::{Action, Input, Site};
use colony_core::state::State;
use colony_margo::Digest;
use colony_testkit::{App, deployment_id};

use crate::act::Die;
use crate::central::Central;
use crate::check::Broken;
use crate::edge::Edge;
use crate::git::Git;
use crate::local::Local;
use crate::message::{Back, Down, Line, Out, Up};
use crate::plan::{Bounds, Op, Plan};
use crate::print::hash;
use crate::time::{START, timing};

/// The name of the only deployment.
const NAME: &str = "pump";
const TIMES: &str = "progressDeadline: 40s\nsoak: 10s\nretry: {installs: 1, updates: 1}";

/// One state of a world. Roles are shared between states until they step.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) plan: Arc<Plan>,
    pub(crate) now: u64,
    pub(crate) site: SiteName,
    pub(crate) git: Arc<Git>,
    pub(crate) central: Arc<Central>,
    pub(crate) local: Arc<Local>,
    pub(crate) nodes: Vec<Arc<Edge>>,
    pub(crate) up: Vec<Line<Up>>,
    pub(crate) down: Vec<Line<Down>>,
    pub(crate) out: Line<Out>,
    pub(crate) back: Line<Back>,
    /// How much of the script was done.
    pub(crate) done: usize,
    pub(crate) left: Bounds,
    /// The newest manifest each node was served.
    pub(crate) served: Vec<Option<(u64, Digest)>>,
    /// Something was removed from Git, or has nothing to go back to.
    pub(crate) removed: bool,
    pub(crate) reverted: bool,
    /// What the placements of an orchestrator under way to be seeded are.
    pub(crate) seeded: BTreeMap<PlacementId, State>,
    pub(crate) broken: Option<Arc<Broken>>,
    /// What the last act did, in words.
    pub(crate) said: Vec<String>,
    print: u64,
}

impl World {
    /// The world of a plan as it is at the beginning.
    pub(crate) fn new(plan: Arc<Plan>) -> World {
        let site: SiteName = "home".parse().expect("a name");
        let git = Git::new(site.clone(), format!("deployments/{site}/{NAME}.yaml"));
        let nobody = Local::new(Site::new(site.clone(), 0, timing()), START);
        let count = plan.nodes.len();
        let node = |it: &&str| Arc::new(Edge::new(it.parse().expect("a name"), START));
        let mut world = World {
            now: START,
            site,
            git: Arc::new(git),
            central: Arc::default(),
            local: Arc::new(nobody),
            nodes: plan.nodes.iter().map(node).collect(),
            up: vec![Line::default(); count],
            down: vec![Line::default(); count],
            out: Line::default(),
            back: Line::default(),
            done: 0,
            left: plan.bounds,
            served: vec![None; count],
            removed: false,
            reverted: false,
            seeded: BTreeMap::new(),
            broken: None,
            said: Vec::new(),
            print: 0,
            plan,
        };
        world.found();
        world
    }

    fn found(&mut self) {
        self.found_local();
        self.local_fetch(Die::Never);
        for node in 0..self.nodes.len() {
            let name = self.nodes[node].name.clone();
            let _ = self.local_step(Input::Joined(name), Die::Never);
            self.edge_introduce(node);
            self.talk(node);
        }
        let first = self.plan.first.map(|it| self.text(it));
        Arc::make_mut(&mut self.git).commit(first);
        if self.plan.settled {
            let calm = self.calm_down();
            assert_eq!(calm, Ok(()), "the world `{}` does not begin", self.plan.name);
        }
        self.said.clear();
        self.left = self.plan.bounds;
        self.note();
    }

    fn text(&self, version: &str) -> String {
        let settings = [self.plan.settings, TIMES].join("\n");
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

    pub(crate) fn send_up(&mut self, node: usize, message: Up) {
        let room = self.plan.bounds.room;
        self.up[node].send(message, room);
    }

    pub(crate) fn send_down(&mut self, node: usize, message: Down) {
        let room = self.plan.bounds.room;
        self.down[node].send(message, room);
    }

    pub(crate) fn send_out(&mut self, message: Out) {
        let room = self.plan.bounds.room;
        self.out.send(message, room);
    }

    pub(crate) fn send_back(&mut self, message: Back) {
        let room = self.plan.bounds.room;
        self.back.send(message, room);
    }

    /// Somebody does the next thing of the script.
    pub(crate) fn operate(&mut self) {
        let Some(op) = self.plan.script.get(self.done).copied() else { return };
        self.done += 1;
        let deployment = self.deployment();
        match op {
            Op::Push(version) => {
                self.say(format!("somebody commits {NAME} {version}"));
                let text = self.text(version);
                Arc::make_mut(&mut self.git).commit(Some(text));
            }
            Op::Delete => {
                self.say(format!("somebody removes {NAME} from Git"));
                self.removed = true;
                Arc::make_mut(&mut self.git).commit(None);
            }
            Op::Replace => self.found_local(),
            Op::Release => self.command(Action::ReleaseQuarantine { deployment }),
            Op::Rollback => self.command(Action::Rollback { deployment }),
        }
    }

    fn command(&mut self, action: Action) {
        self.say(format!("an operator asks: {action:?}"));
        if !self.is_prompt() {
            return self.central_command(action);
        }
        let command =
            colony_core::site::Command { number: None, by: "ana".into(), expires: None, action };
        let _ = self.local_step(Input::Command(command), Die::Never);
    }

    /// Brings the digest up to the present.
    pub(crate) fn note(&mut self) {
        self.refresh();
        self.print = hash((self.standing(), self.lines(), self.done, self.left, &self.served));
    }

    /// The digest by which this state is known.
    #[cfg(test)]
    pub(crate) fn print(&self) -> u64 {
        self.print
    }

    /// Brings the digests of the roles that changed up to the present.
    pub(crate) fn refresh(&mut self) {
        if self.local.print().is_none() {
            Arc::make_mut(&mut self.local).note(self.now);
        }
        if self.central.print().is_none() {
            Arc::make_mut(&mut self.central).note();
        }
        for edge in self.nodes.iter_mut().filter(|it| it.print().is_none()) {
            Arc::make_mut(edge).note(self.now);
        }
    }

    /// Everything but the lines and what may still happen.
    pub(crate) fn standing(&self) -> u64 {
        let nodes: Vec<Option<u64>> = self.nodes.iter().map(|it| it.print()).collect();
        let incarnation = self.local.incarnation();
        let next = self.central.next(incarnation);
        let skip = usize::try_from(next - 1).unwrap_or(0);
        let unheard: Vec<u64> = self.local.log.iter().skip(skip).map(|it| it.1).collect();
        let ahead = i128::from(self.local.unsent) - i128::from(next);
        let roles = (self.local.print(), self.central.print(), nodes, self.git.print());
        hash((roles, unheard, ahead, self.removed, self.reverted, self.broken.is_some()))
    }

    fn lines(&self) -> u64 {
        let near = |line: &[u64]| hash(line);
        let up: Vec<u64> = self.up.iter().map(|it| near(&it.prints())).collect();
        let down: Vec<u64> = self.down.iter().map(|it| near(&it.prints())).collect();
        let out: Vec<_> = self.out.texts().map(|it| self.far(it)).collect();
        let back: Vec<_> = self.back.texts().map(|it| self.near(it)).collect();
        hash((up, down, out, back))
    }

    /// Positions in the log count from what the centre has.
    fn far(&self, message: &Out) -> (u8, u32, i128, usize) {
        match message {
            Out::Events { incarnation, from, events } => {
                let next = self.central.next(*incarnation);
                (1, *incarnation, i128::from(*from) - i128::from(next), events.len())
            }
            Out::CommandsPlease => (2, 0, 0, 0),
        }
    }

    fn near(&self, message: &Back) -> (u8, u32, i128, Vec<Option<u64>>) {
        match message {
            Back::Taken { incarnation, next } => {
                let stored = self.central.next(*incarnation);
                (1, *incarnation, i128::from(*next) - i128::from(stored), Vec::new())
            }
            Back::Fenced { by } => (2, *by, 0, Vec::new()),
            Back::Commands(all) => (3, 0, 0, all.iter().map(|it| it.number).collect()),
        }
    }
}

/// Questions of goals.
impl World {
    pub(crate) fn any(&self, is: impl Fn(State) -> bool) -> bool {
        self.local.core.placements().any(|it| is(it.state()))
    }

    /// Every node has a placement, and each is so.
    pub(crate) fn all(&self, is: impl Fn(State) -> bool) -> bool {
        let core = &self.local.core;
        core.placements().count() == self.nodes.len() && core.placements().all(|it| is(it.state()))
    }

    pub(crate) fn is_quarantined(&self) -> bool {
        let deployment = self.local.core.deployment(&self.deployment());
        deployment.is_some_and(|it| !it.quarantine().is_empty())
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.done == self.plan.script.len()
    }

    /// Every node runs the version that Git's head holds.
    pub(crate) fn runs_head(&self) -> bool {
        let id = self.deployment();
        let text = self.git.file().and_then(|it| self.git.text(it)).unwrap_or_default();
        let version = crate::words::revision(&text);
        self.is_spent() && self.nodes.iter().all(|it| it.engine.running(&id) == version)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.print == other.print
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.said.join("; "))
    }
}
