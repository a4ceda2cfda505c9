//! The state of a world: the roles, the lines between them, and what is left.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use colony_core::id::{DeploymentId, PlacementId, SiteName};
use colony_core::site::{Action, Input, Site};
use colony_core::state::State;
use colony_margo::Digest;
use colony_testkit::{App, deployment_id};

use crate::central::Central;
use crate::check::Broken;
use crate::edge::Edge;
use crate::fate::Trail;
use crate::git::Git;
use crate::local::Local;
use crate::message::{Back, Down, Line, Out, Up};
use crate::plan::{Bounds, Op, Plan};
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
    /// The orchestrator before it, if it does not know that it was replaced.
    pub(crate) former: Option<Arc<Local>>,
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
    /// An operator has asked for the next step.
    pub(crate) promoted: bool,
    /// The take-over of a staged revision was opened.
    pub(crate) opened: bool,
    /// The newest revision was given up.
    pub(crate) aborted: bool,
    /// A takeover was tried, and the centre did not answer.
    pub(crate) interrupted: bool,
    /// What the placements of an orchestrator under way to be seeded are.
    pub(crate) seeded: BTreeMap<PlacementId, State>,
    pub(crate) broken: Option<Arc<Broken>>,
    /// The steps of the act that happens.
    pub(crate) trail: Trail,
    /// What the last act did, in words.
    pub(crate) said: Vec<String>,
    /// The digest by which this state is known.
    pub(crate) print: u64,
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
            former: None,
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
            promoted: false,
            opened: false,
            aborted: false,
            interrupted: false,
            seeded: BTreeMap::new(),
            broken: None,
            trail: Trail::default(),
            said: Vec::new(),
            print: 0,
            plan,
        };
        world.found();
        world
    }

    fn found(&mut self) {
        self.replace_local();
        self.former = None;
        self.local_seed();
        self.local_fetch();
        for node in 0..self.nodes.len() {
            let name = self.nodes[node].name.clone();
            let _ = self.local_step(Input::Joined(name));
            self.edge_introduce(node);
            self.talk(node);
        }
        let settings = if self.plan.settled { "" } else { self.plan.settings };
        let first = self.plan.first.map(|it| self.text(it, settings));
        Arc::make_mut(&mut self.git).commit(first);
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

    pub(crate) fn send_up(&mut self, node: usize, message: Up) {
        let room = self.plan.bounds.room;
        self.up[node].send(message, room);
    }

    pub(crate) fn send_down(&mut self, node: usize, message: Down) {
        let room = self.plan.bounds.room;
        self.down[node].send(message, room);
    }

    pub(crate) fn send_out(&mut self, message: Out) {
        if self.out.send(message, self.plan.bounds.far) {
            self.miss_centre();
        }
    }

    pub(crate) fn send_back(&mut self, message: Back) {
        if self.back.send(message, self.plan.bounds.far) {
            self.miss_centre();
        }
    }

    /// Somebody does the next thing of the script; who gets no answer does it
    /// again.
    pub(crate) fn operate(&mut self) {
        let Some(op) = self.plan.script.get(self.done).copied() else { return };
        let deployment = self.deployment();
        let answered = match op {
            Op::Push(version) => {
                self.say(format!("somebody commits {NAME} {version}"));
                let text = self.text(version, self.plan.settings);
                Arc::make_mut(&mut self.git).commit(Some(text));
                true
            }
            Op::Delete => {
                self.say(format!("somebody removes {NAME} from Git"));
                self.removed = true;
                Arc::make_mut(&mut self.git).commit(None);
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
            return self.central_command(action);
        }
        let command =
            colony_core::site::Command { number: None, by: "ana".into(), expires: None, action };
        self.local_step(Input::Command(command)).is_some()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.said.join("; "))
    }
}
