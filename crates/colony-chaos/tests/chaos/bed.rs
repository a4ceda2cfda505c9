//! A fleet that something is about to happen to, and what is known of it
//! before: what runs, and what was acknowledged.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use colony_chaos::{RESULTS, Record};
use colony_process::fail::Point;
use serde_json::Value;

use crate::ask::ASKED;
use crate::engines::Engine;
use crate::kit::{Fleet, now, wait, wait_or_not};
use crate::ledger::{Ledger, acknowledged};

/// What a binary with failpoints reads.
const FAILPOINT: &[u8] = b"COLONY_FAILPOINT";

/// The workload nobody has a reason to touch.
pub(crate) const KEPT: &str = "kept";

#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) fleet: Fleet,
    pub(crate) record: Record,
    /// What ran before, by container and when it started.
    pub(crate) containers: BTreeMap<String, String>,
    ledger: Ledger,
    ended: Option<Instant>,
    /// Why nobody could be asked `why`, if the test says so.
    pub(crate) unasked: Option<&'static str>,
    /// Something was ordered only to be asked about.
    pub(crate) ordered: bool,
}

impl Bed {
    /// The fleet as it is, for a fault of that kind to that role.
    pub(crate) fn of(fleet: Fleet, fault: &str, role: &str) -> Bed {
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        let engine = fleet.engine.as_ref().map_or("none", |it| it.kind).to_owned();
        let (fault, role) = (fault.to_owned(), role.to_owned());
        let record = Record {
            test,
            fault,
            role,
            engine,
            faults: 0,
            acknowledged: 0,
            lost: 0,
            restarted: 0,
            seconds: 0.0,
            asked: 0,
            answered: 0,
        };
        let (containers, ledger) = (BTreeMap::new(), Ledger::default());
        Bed { fleet, record, containers, ledger, ended: None, unasked: None, ordered: false }
    }

    /// Site `home` with node `n1` on that engine, where something runs.
    pub(crate) fn ready(engine: Engine, fault: &str, role: &str) -> Bed {
        Bed::prepared(Fleet::central(&[]).with_node_on(engine), fault, role)
    }

    /// The same for a fleet that was started in another way.
    pub(crate) fn prepared(fleet: Fleet, fault: &str, role: &str) -> Bed {
        let mut bed = Bed::of(fleet, fault, role);
        bed.install(KEPT);
        if role == "central" {
            bed.leave_waiting();
        }
        bed.remember();
        assert!(!bed.containers.is_empty(), "`{KEPT}` has no container");
        bed
    }

    /// What runs and what is acknowledged by now must stay.
    pub(crate) fn remember(&mut self) {
        self.containers = self.fleet.containers();
        self.ledger = acknowledged(&self.fleet);
    }

    #[track_caller]
    pub(crate) fn install(&self, name: &str) {
        self.deploy(name);
        self.installed(name);
    }

    /// Asks for a deployment; whether that was taken is seen later.
    pub(crate) fn deploy(&self, name: &str) -> i32 {
        let deploy = ["deploy", "hello", "--name", name, "--version", "1.0", "--site", "home"];
        let settings = self.fleet.settings();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        self.fleet.type_in(&[&deploy[..], &settings, &["--yes"]].concat()).code
    }

    #[track_caller]
    pub(crate) fn installed(&self, name: &str) -> Value {
        self.fleet.see(name, |it| it["outcome"] == "installed")
    }

    /// Nobody knows of it any more, but that it was.
    #[track_caller]
    pub(crate) fn gone(&self, name: &str) {
        wait("the end of the deletion", || is_gone(&self.fleet, name).then_some(()));
    }

    /// The part dies the n-th time it comes by.
    pub(crate) fn arm(&self, part: &str, point: Point, pass: u64) {
        assert!(can_die(), "{} has no failpoints: use scripts/chaos", crate::program().display());
        let text = format!("{}:{pass}", point.name());
        std::fs::write(self.fleet.trap(part), text).unwrap();
    }

    /// The part died where it was told to; anything else is a failure.
    #[track_caller]
    pub(crate) fn died(&mut self, part: &str, point: Point) {
        let process = self.fleet.process(part);
        let reached = wait_or_not(|| process.has_ended().then_some(()));
        assert!(reached.is_some(), "not reached: {}", point.name());
        self.fault(part);
    }

    fn fault(&mut self, part: &str) {
        let trap = self.fleet.trap(part);
        let process = self.fleet.process(part);
        let status = process.ended();
        assert_eq!(status.signal(), Some(9), "it ended by itself: {}", process.log());
        assert!(!trap.exists(), "somebody else killed it: {}", process.log());
        self.record.faults += 1;
    }

    /// Whether the part has died, or all is done without that.
    pub(crate) fn died_or(&mut self, part: &str, done: impl Fn(&Fleet) -> bool) -> bool {
        let died = wait("the end of a round", || {
            if self.fleet.process(part).has_ended() {
                return Some(true);
            }
            done(&self.fleet).then_some(false)
        });
        if died {
            self.fault(part);
        } else {
            // Nobody comes by any more.
            let _ = std::fs::remove_file(self.fleet.trap(part));
        }
        died
    }

    /// The site knows of the deployment.
    #[track_caller]
    pub(crate) fn known(&self, name: &str) {
        self.fleet.see(name, |it| !it["sites"][0]["placements"][0]["state"].is_null());
    }

    pub(crate) fn faults(&mut self, more: u64) {
        self.record.faults += more;
    }

    pub(crate) fn restart(&mut self, part: &str) {
        self.fleet.process(part).restart();
    }

    /// The fault is over: from here on it is counted how long it takes.
    pub(crate) fn over(&mut self) {
        self.ended = Some(now());
    }

    /// What ran was not touched, what was acknowledged is there, and so it is
    /// recorded.
    #[track_caller]
    pub(crate) fn end(mut self, installed: &[&str]) {
        let ordered = self.ordered.then_some(&ASKED);
        for name in installed.iter().chain(ordered) {
            self.installed(name);
        }
        let (acknowledged, lost) = self.ledger.settle(&self.fleet);
        let ended = self.ended.expect("the fault has ended");
        self.record.seconds = now().duration_since(ended).as_secs_f64();
        let after = self.fleet.containers();
        let touched = self.containers.iter().filter(|it| after.get(it.0) != Some(it.1)).count();
        self.record.restarted = touched as u64;
        (self.record.acknowledged, self.record.lost) = (acknowledged, lost);
        println!("{:?}", self.record);
        if let Some(path) = std::env::var_os(RESULTS) {
            self.record.append(path.as_ref()).unwrap();
        }
        let Record { lost, restarted, asked, answered, faults, .. } = self.record;
        assert_eq!((lost, restarted, answered), (0, 0, asked), "lost, restarted, not answered");
        assert_ne!(faults, 0, "nothing was done");
        let decided = (asked == 0) == self.unasked.is_some();
        assert!(decided, "asked {asked} times; nothing to ask: {:?}", self.unasked);
    }
}

/// Whether the binary was built together with this suite.
fn can_die() -> bool {
    let binary = std::fs::read(crate::program()).unwrap_or_default();
    binary.windows(FAILPOINT.len()).any(|it| it == FAILPOINT)
}

pub(crate) fn is_gone(fleet: &Fleet, name: &str) -> bool {
    let shown = fleet.colony(["deployment", "show", name, "-o", "json"]);
    shown.code == 0 && shown.json()["outcome"] == "deleted" || shown.err.contains("no deployment")
}
