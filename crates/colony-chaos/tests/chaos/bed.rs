//! A fleet that something is about to happen to, and what is known of it
//! before: what runs, and what was acknowledged.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use colony_chaos::{RESULTS, Record};
use colony_fail::Point;
use serde_json::Value;

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
    record: Record,
    /// What ran before, by container and when it started.
    containers: BTreeMap<String, String>,
    ledger: Ledger,
    ended: Option<Instant>,
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
        let (containers, ledger, ended) = (BTreeMap::new(), Ledger::default(), None);
        Bed { fleet, record, containers, ledger, ended }
    }

    /// Site `home` with node `n1` on that engine, where something runs.
    pub(crate) fn ready(engine: Engine, fault: &str, role: &str) -> Bed {
        Bed::prepared(Fleet::central(&[]).with_node_on(engine), fault, role)
    }

    /// The same for a fleet that was started in another way.
    pub(crate) fn prepared(fleet: Fleet, fault: &str, role: &str) -> Bed {
        let mut bed = Bed::of(fleet, fault, role);
        bed.install(KEPT);
        bed.remember();
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
        self.fleet.type_in(&[&deploy[..], &["--yes"]].concat()).code
    }

    #[track_caller]
    pub(crate) fn installed(&self, name: &str) -> Value {
        self.fleet.see(name, |it| it["outcome"] == "installed")
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

    /// Containers that came since those that are to stay.
    pub(crate) fn fresh(&self) -> Vec<String> {
        let all = self.fleet.containers().into_keys();
        all.filter(|it| !self.containers.contains_key(it)).collect()
    }

    /// What runs has reason to be restarted.
    pub(crate) fn forget_containers(&mut self) {
        self.containers.clear();
    }

    /// So many containers run.
    #[track_caller]
    pub(crate) fn all_run(&self, count: usize) {
        wait("the workloads to run again", || (self.running() == count).then_some(()));
    }

    /// How many containers run; what only waits to be started does not.
    pub(crate) fn running(&self) -> usize {
        let engine = self.fleet.engine.as_ref().unwrap();
        engine.ask("GET", "/containers/json").as_array().map_or(0, Vec::len)
    }

    /// The site knows of the deployment.
    #[track_caller]
    pub(crate) fn known(&self, name: &str) {
        self.fleet.see(name, |it| !it["sites"][0]["placements"][0]["state"].is_null());
    }

    /// A container ends and the site repairs it, with nobody's help.
    #[track_caller]
    pub(crate) fn break_at_site(&self, name: &str, container: &str) {
        let socket = self.fleet.path().join("home/local/local.sock").display().to_string();
        let show = ["deployment", "show", name, "--socket", &socket];
        let placement = || self.fleet.json(show)["sites"][0]["placements"][0].clone();
        let before = placement();
        let engine = self.fleet.engine.as_ref().unwrap();
        engine.ask("POST", &format!("/containers/{container}/kill"));
        let repaired = |it: &Value| it["since"] != before["since"] && it["state"] == "INSTALLED";
        wait("the repair", || Some(placement()).filter(repaired));
    }

    pub(crate) fn faults(&mut self, more: u64) {
        self.record.faults += more;
    }

    pub(crate) fn restart(&mut self, part: &str) {
        self.fleet.process(part).restart();
    }

    /// While the fault lasts: why is that not installed? Asked of whoever lives.
    #[track_caller]
    pub(crate) fn why(&mut self, name: &str, down: &str) {
        let socket = self.fleet.path().join("home/local/local.sock").display().to_string();
        let at_site: &[&str] = if down == "central" { &["--socket", &socket] } else { &[] };
        let show = [&["deployment", "show", name, "-o", "json"], at_site].concat();
        let shown = self.fleet.type_in(&show);
        if shown.code != 0 || shown.json()["outcome"] == "installed" {
            // Nobody who lives has heard of it, or there is nothing to ask.
            return;
        }
        let why = self.fleet.type_in(&[&["why", name, "-o", "json"], at_site].concat());
        if why.code == 0 && shown_now(&self.fleet, &show) {
            // It got there between the two questions.
            return;
        }
        self.record.asked += 1;
        let reasons = if why.code == 0 { why.json()["reasons"].clone() } else { Value::Null };
        let reasons = reasons.as_array().cloned().unwrap_or_default();
        let said = |it: &Value| it["sentence"].as_str().is_some_and(|it| !it.is_empty());
        self.record.answered += u64::from(!reasons.is_empty() && reasons.iter().all(said));
    }

    /// The fault is over: from here on it is counted how long it takes.
    pub(crate) fn over(&mut self) {
        self.ended = Some(now());
    }

    /// What ran was not touched, what was acknowledged is there, and so it is
    /// recorded.
    #[track_caller]
    pub(crate) fn end(mut self, installed: &[&str]) {
        for name in installed {
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
    }
}

/// Whether the binary was built together with this suite.
fn can_die() -> bool {
    let binary = std::fs::read(crate::program()).unwrap_or_default();
    binary.windows(FAILPOINT.len()).any(|it| it == FAILPOINT)
}

fn shown_now(fleet: &Fleet, show: &[&str]) -> bool {
    let shown = fleet.type_in(show);
    shown.code == 0 && shown.json()["outcome"] == "installed"
}
