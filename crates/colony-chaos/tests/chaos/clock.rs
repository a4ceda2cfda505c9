//! The wall clock of one process, set wrong. The monotonic clock is left
//! alone, as it is when somebody sets a machine's clock.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Process, wait};

const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
const HOUR: i64 = 3_600;

#[test]
#[ignore = "takes long; make chaos runs it"]
fn clock_of_a_node_is_set() {
    steps("home/n1", "node");
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn clock_of_a_site_is_set() {
    steps("home", "local");
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn clock_of_the_central_orchestrator_is_set() {
    steps("central", "central");
}

/// A site without a battery for its clock starts long ago, and learns the time
/// later. Its nodes come back to it.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_starts_before_it_knows_the_time() {
    let mut bed = Bed::ready(Engine::podman(), "clock set", "local");
    let clock = Clock { file: bed.fleet.path().join("clock") };
    clock.step(-365 * 24 * HOUR);
    bed.fleet.process("home").kill();
    clock.give_to(bed.fleet.process("home"));
    bed.restart("home");
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    wait("the node to be without it", || {
        bed.fleet.process("home/n1").log().contains("certificate expired").then_some(())
    });
    bed.why("job", "");
    bed.over();
    clock.step(0);
    bed.end(&["job", KEPT]);
}

/// A node without a battery for its clock boots long ago. It does not believe
/// its site, which is no reason to touch what runs, and comes back by itself.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_boots_before_it_knows_the_time() {
    let mut bed = Bed::ready(Engine::docker(), "clock set", "node");
    let clock = Clock { file: bed.fleet.path().join("clock") };
    clock.step(-365 * 24 * HOUR);
    bed.fleet.process("home/n1").kill();
    clock.give_to(bed.fleet.process("home/n1"));
    bed.restart("home/n1");
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    wait("the node to be without its site", || {
        bed.fleet.process("home/n1").log().contains("not valid").then_some(())
    });
    bed.why("job", "home/n1");
    bed.over();
    clock.step(0);
    bed.end(&["job", KEPT]);
}

/// The same for the central orchestrator and its sites.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_starts_before_it_knows_the_time() {
    let mut bed = Bed::ready(Engine::podman(), "clock set", "central");
    let clock = Clock { file: bed.fleet.path().join("clock") };
    clock.step(-365 * 24 * HOUR);
    bed.fleet.process("central").kill();
    clock.give_to(bed.fleet.process("central"));
    bed.restart("central");
    bed.faults(1);
    wait("the site to be without it", || {
        bed.fleet.process("home").log().contains("not valid").then_some(())
    });
    bed.ask("central");
    bed.over();
    clock.step(0);
    wait("the order", || Some(()).filter(|()| bed.deploy("job") == 0));
    bed.end(&["job", KEPT]);
}

/// An hour forward, two back, and right again, while it runs.
fn steps(part: &str, role: &str) {
    let mut bed = Bed::ready(Engine::podman(), "clock set", role);
    let clock = Clock { file: bed.fleet.path().join("clock") };
    clock.step(0);
    bed.fleet.process(part).kill();
    clock.give_to(bed.fleet.process(part));
    bed.restart(part);
    bed.fleet.central_answers();
    bed.install("right");
    bed.remember();
    clock.step(HOUR);
    bed.faults(1);
    bed.install("ahead");
    clock.step(-HOUR);
    bed.faults(1);
    let taken = bed.deploy("behind") == 0;
    bed.nothing_to_ask("the work goes on while the clock is wrong");
    bed.over();
    clock.step(0);
    if !taken {
        bed.fleet.central_answers();
        assert_eq!(bed.deploy("behind"), 0);
    }
    bed.end(&["ahead", "behind", KEPT]);
}

/// What a running process is told of the time.
struct Clock {
    file: PathBuf,
}

impl Clock {
    /// Off by so many seconds from here on.
    fn step(&self, seconds: i64) {
        let beside = self.file.with_extension("next");
        fs::write(&beside, format!("{seconds:+}\n")).unwrap();
        fs::rename(&beside, &self.file).unwrap();
    }

    fn give_to(&self, process: &mut Process) {
        let file = path(&self.file);
        let more = [("FAKETIME_TIMESTAMP_FILE", file), ("FAKETIME_NO_CACHE", "1".to_owned())];
        fake(process, more.into());
    }
}

/// The process starts with its clock off by so many seconds.
pub(crate) fn set(process: &mut Process, seconds: i64) {
    fake(process, vec![("FAKETIME", format!("{seconds:+}"))]);
}

/// The process starts with the right time again.
pub(crate) fn right(process: &mut Process) {
    process.environment.retain(|it| !it.0.starts_with("FAKETIME") && it.0 != "LD_PRELOAD");
}

fn fake(process: &mut Process, mut settings: Vec<(&str, String)>) {
    settings.push(("LD_PRELOAD", path(&library())));
    settings.push(("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()));
    process.environment.extend(settings.into_iter().map(|(key, value)| (key.to_owned(), value)));
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn library() -> PathBuf {
    let machine = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let found = PathBuf::from(machine).join(LIBRARY);
    assert!(found.exists(), "libfaketime is missing: apt-get install -y faketime");
    found
}
