//! The simulated world: who is there, what is due, and what was seen.

use std::collections::{BTreeMap, VecDeque};

use colony_core::id::SiteName;
use colony_core::site::Input;

use crate::central::Central;
use crate::check::Checker;
use crate::coverage::Coverage;
use crate::edge::Edge;
use crate::git::Git;
use crate::local::Local;
use crate::network::Happening;
use crate::rng::Rng;
use crate::season::Season;

/// How many lines of a story are kept for the report of a violation, unless
/// the whole is wanted.
const TRACE: usize = 300;
/// More steps than any sound story takes.
const STEPS: u64 = 1_000_000;

/// Everything there is.
#[derive(Debug)]
pub(crate) struct World {
    /// Virtual milliseconds since the beginning.
    pub(crate) now: u64,
    pub(crate) rng: Rng,
    queue: BTreeMap<(u64, u64), Happening>,
    serial: u64,
    pub(crate) git: Git,
    pub(crate) central: Central,
    /// The LO in charge of each site; behind them those they have replaced.
    pub(crate) sites: Vec<Local>,
    pub(crate) founded: usize,
    pub(crate) nodes: Vec<Edge>,
    /// Faults have stopped.
    pub(crate) calm: bool,
    pub(crate) season: Season,
    /// Added at CO, and nobody ever joins it.
    pub(crate) announced: Option<SiteName>,
    pub(crate) checker: Checker,
    pub(crate) coverage: Coverage,
    pub(crate) trace: VecDeque<String>,
    /// Nothing of the trace is dropped.
    pub(crate) whole: bool,
    pub(crate) violation: Option<String>,
    pub(crate) steps: u64,
    pub(crate) faults: u64,
}

impl World {
    /// A fleet as it is after everybody has joined.
    pub(crate) fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let site_count = rng.range(1..4);
        let mut world = World {
            now: 0,
            rng,
            queue: BTreeMap::new(),
            serial: 0,
            git: Git::new(),
            central: Central::new(),
            sites: Vec::new(),
            founded: 0,
            nodes: Vec::new(),
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
        let site = self.sites.len();
        let incarnation = self.central_join(&name, false).expect("a new site can join");
        self.sites.push(Local::new(name, incarnation, self.season.timing()));
        self.founded += 1;
        self.local_seed(site);
        let most = if self.rng.chance(10) { 17 } else { 8 };
        let least = u64::from(self.nodes.is_empty() || !self.rng.chance(20));
        for _ in 0..self.rng.range(least..most) {
            self.found_node(site);
        }
        self.after(100, Happening::LocalSync { site });
    }

    /// Somebody adds a site and never sets it up.
    fn announce_site(&mut self) {
        if self.rng.chance(30) {
            let name: SiteName = "site-9".parse().expect("a name");
            self.central.core.site_add(&name);
            self.central_store();
            self.announced = Some(name);
        }
    }

    pub(crate) fn found_node(&mut self, site: usize) -> usize {
        let node = self.nodes.len();
        let name = format!("n{node}").parse().expect("a name");
        let architecture = if self.rng.chance(15) { "arm64" } else { "amd64" };
        let mut edge = Edge::new(name, site, architecture);
        edge.labelled = self.rng.chance(40);
        self.nodes.push(edge);
        let name = self.nodes[node].name.clone();
        self.local_step(site, Input::Joined(name));
        self.nodes[node].process.die();
        self.edge_up(node);
        let soon = self.rng.range(10..3_000);
        self.after(soon, Happening::EdgePoll { node, again: true });
        self.after(soon, Happening::EdgeLook { node, again: true });
        node
    }

    pub(crate) fn after(&mut self, wait: u64, happening: Happening) {
        self.at(self.now + wait, happening);
    }

    pub(crate) fn at(&mut self, at: u64, happening: Happening) {
        self.serial += 1;
        self.queue.insert((at.max(self.now), self.serial), happening);
    }

    /// Rounds that were to come rarely come soon.
    pub(crate) fn hasten(&mut self) {
        let all = std::mem::take(&mut self.queue);
        for ((at, serial), it) in all {
            let at = if it.is_round() { self.now + self.rng.range(1..3_000) } else { at };
            self.queue.insert((at, serial), it);
        }
    }

    /// Runs until `until`, or until something is wrong.
    pub(crate) fn run_until(&mut self, until: u64) {
        while self.violation.is_none() {
            if self.steps > STEPS {
                let due: Vec<String> =
                    self.queue.values().take(3).map(|it| format!("{it:?}")).collect();
                self.note(|_| format!("due: {due:?}"));
                return self.violate("somebody runs in circles".to_owned());
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
            Happening::EdgePoll { node, again } => self.edge_poll(node, again),
            Happening::EdgeLook { node, again } => self.edge_look(node, again),
            Happening::EdgeWake { node, life, at } => self.edge_wake(node, life, at),
            Happening::EngineDone { node, life, action, subject } => {
                self.engine_done(node, life, action, subject);
            }
            Happening::LocalSync { site } => self.local_sync(site),
            Happening::LocalWake { site, life, at } => self.local_wake(site, life, at),
            Happening::CentralWork => self.central_work(),
            Happening::CentralPush { number } => self.central_push(number),
            Happening::Ask => self.ask(),
            Happening::EdgeMoves { node, site } => self.edge_moves(node, site),
            Happening::EdgeBooted { node, life, version, ran } => {
                self.edge_booted(node, (life, version), &ran);
            }
            Happening::EdgeReborn { node, life } => self.edge_reborn(node, life),
            Happening::LocalRejoin { site } => self.local_rejoin(site),
            Happening::EdgeUp { node } => self.edge_up(node),
            Happening::LocalUp { site } => self.local_up(site),
            Happening::CentralUp => self.central_up(),
            Happening::ToLocal { site, message } => self.local_receive(site, message),
            Happening::ToEdge { node, message } => self.edge_receive(node, message),
            Happening::ToCentral { site, message } => self.central_receive(site, message),
        }
    }

    /// Whether a process dies at this very point.
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
