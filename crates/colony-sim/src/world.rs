//! The simulated world: its roles, its queue of events, and the records of the
//! run.

use std::collections::{BTreeMap, VecDeque};

use colony_core::id::SiteName;
use colony_core::node::Policy;
use colony_core::site::Input;
use colony_world::{
    CentralShell, Device, JoinShell, Local, LocalShell, Pace, Roles, Shared, WriterShell,
};

use crate::chaos::backup::SavedCentral;
use crate::chaos::season::Season;
use crate::check::{Checker, ExpectedPlan};
use crate::coverage::Coverage;
use crate::network::Happening;
use crate::rng::Rng;

/// How many lines of a story are kept for the report of a violation, unless the
/// whole trace is requested.
const TRACE: usize = 300;
/// More steps than any correct story takes.
const STEPS: u64 = 1_000_000;

/// The state of the simulation.
#[derive(Debug)]
pub(crate) struct World {
    /// Virtual milliseconds since the beginning.
    pub(crate) now: u64,
    pub(crate) rng: Rng,
    queue: BTreeMap<(u64, u64), Happening>,
    serial: u64,
    pub(crate) roles: Roles,
    pub(crate) founded: usize,
    /// The last backup of CO, and how often one was restored.
    pub(crate) backup: Option<Box<SavedCentral>>,
    pub(crate) restores: u64,
    /// The plan of the commit that a site is reading.
    pub(crate) expected: Option<ExpectedPlan>,
    /// The faults have stopped.
    pub(crate) calm: bool,
    pub(crate) season: Season,
    /// A site that was added at CO and that no LO ever joins.
    pub(crate) announced: Option<SiteName>,
    pub(crate) checker: Checker,
    pub(crate) coverage: Coverage,
    pub(crate) trace: VecDeque<String>,
    /// The trace is kept completely.
    pub(crate) whole: bool,
    pub(crate) violation: Option<String>,
    pub(crate) steps: u64,
    pub(crate) faults: u64,
}

impl World {
    /// A fleet after all sites and nodes have joined.
    pub(crate) fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let site_count = rng.range(1..4);
        let mut world = World {
            now: 0,
            rng,
            queue: BTreeMap::new(),
            serial: 0,
            roles: Roles::default(),
            founded: 0,
            backup: None,
            restores: 0,
            expected: None,
            calm: true,
            season: Season::default(),
            announced: None,
            checker: Checker::default(),
            coverage: Coverage::default(),
            trace: VecDeque::new(),
            whole: false,
            violation: None,
            steps: 0,
            faults: 0,
        };
        for index in 0..site_count {
            world.found_site(index);
        }
        world.announce_site();
        world.after(500, Happening::CentralWork);
        world.after(10_000, Happening::Ask);
        world.calm = false;
        world
    }

    fn found_site(&mut self, index: u64) {
        let name: SiteName = format!("site-{index}").parse().expect("a name");
        let site = self.roles.sites.len();
        let incarnation = self.central_join(&name, false).expect("a new site can join");
        let local = Local::new(name, incarnation, self.season.timing());
        self.roles.sites.push(Shared::new(local));
        self.founded += 1;
        self.request_seed(site);
        let most = if self.rng.chance(10) { 17 } else { 8 };
        let least = u64::from(self.roles.nodes.is_empty() || !self.rng.chance(20));
        for _ in 0..self.rng.range(least..most) {
            self.found_node(site);
        }
        self.after(100, Happening::LocalSync { site });
    }

    /// An operator adds a site and never sets it up.
    fn announce_site(&mut self) {
        if self.rng.chance(30) {
            let name: SiteName = "site-9".parse().expect("a name");
            self.roles.central.core.site_add(&name);
            self.central_record(|_| {});
            self.announced = Some(name);
        }
    }

    pub(crate) fn found_node(&mut self, site: usize) -> usize {
        let node = self.roles.nodes.len();
        let name = format!("n{node}").parse().expect("a name");
        let architecture = if self.rng.chance(15) { "arm64" } else { "amd64" };
        let mut device = Device::new(name, site, Policy::default(), Pace::default());
        device.architecture = architecture.to_owned();
        device.labelled = self.rng.chance(40);
        self.roles.nodes.push(Shared::new(device));
        let name = self.roles.nodes[node].name.clone();
        self.local_step(site, Input::Joined(name));
        self.roles.nodes[node].process.die();
        self.node_up(node);
        let soon = self.rng.range(10..3_000);
        self.after(soon, Happening::NodePoll { node, again: true });
        self.after(soon, Happening::NodeLook { node, again: true });
        node
    }

    pub(crate) fn after(&mut self, wait: u64, happening: Happening) {
        self.at(self.now + wait, happening);
    }

    pub(crate) fn at(&mut self, at: u64, happening: Happening) {
        self.serial += 1;
        self.queue.insert((at.max(self.now), self.serial), happening);
    }

    /// Moves rare periodic rounds to the next seconds.
    pub(crate) fn hasten(&mut self) {
        let all = std::mem::take(&mut self.queue);
        for ((at, serial), it) in all {
            let at = if it.is_round() { self.now + self.rng.range(1..3_000) } else { at };
            self.queue.insert((at, serial), it);
        }
    }

    /// Runs until `until`, or until a violation.
    pub(crate) fn run_until(&mut self, until: u64) {
        while self.violation.is_none() {
            if self.steps > STEPS {
                let due: Vec<String> =
                    self.queue.values().take(3).map(|it| format!("{it:?}")).collect();
                self.note(|_| format!("due: {due:?}"));
                return self.violate("a role runs in circles".to_owned());
            }
            let Some(entry) = self.queue.first_entry() else { return };
            if entry.key().0 > until {
                self.now = until;
                return;
            }
            self.now = entry.key().0;
            let happening = entry.remove();
            self.happen(happening);
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Chaos => self.chaos(),
            Happening::NodePoll { node, again } => self.node_polls(node, again),
            Happening::NodeLook { node, again } => self.node_looks(node, again),
            Happening::NodeWake { node, life, at } => self.node_wake(node, life, at),
            Happening::EngineDone { node, life, action, version } => {
                self.engine_done(node, life, action, version.as_deref());
            }
            Happening::LocalSync { site } => self.local_sync(site),
            Happening::LocalWake { site, life, at } => self.local_wake(site, life, at),
            Happening::CentralWork => self.central_work(),
            Happening::CentralPush { number } => self.central_push(number),
            Happening::Ask => self.ask(),
            Happening::NodeMoves { node, site } => self.node_moves(node, site),
            Happening::NodeBooted { node, life, version, ran } => {
                self.node_booted(node, (life, version), &ran);
            }
            Happening::NodeReborn { node, life } => self.node_reborn(node, life),
            Happening::LocalRejoin { site } => self.local_rejoin(site),
            Happening::NodeUp { node } => self.node_up(node),
            Happening::LocalUp { site } => self.local_up(site),
            Happening::CentralUp => self.central_up(),
            Happening::ToLocal { site, message } => self.local_hears(site, message),
            Happening::ToNode { node, message } => self.node_hears(node, message),
            Happening::ToCentral { site, message } => self.central_receive(site, message),
        }
    }

    /// Whether a process crashes at this point.
    pub(crate) fn dies(&mut self) -> bool {
        !self.calm && self.rng.range(0..2_000) == 0
    }

    pub(crate) fn note(&mut self, line: impl FnOnce(&World) -> String) {
        let seconds = self.now as f64 / 1_000.0;
        let line = format!("{seconds:>9.3}  {}", line(self));
        if self.trace.len() == TRACE && !self.whole {
            self.trace.pop_front();
        }
        self.trace.push_back(line);
    }

    pub(crate) fn violate(&mut self, what: String) {
        self.note(|_| format!("VIOLATION: {what}"));
        self.violation.get_or_insert(what);
    }
}
