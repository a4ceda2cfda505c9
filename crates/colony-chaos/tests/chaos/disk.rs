//! The disk of a role is full, and has room again later. Nothing is said to be
//! done that could not be kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Fleet, wait};

#[test]
#[ignore = "takes long; make chaos runs it"]
fn disk_of_a_node_is_full() {
    let mut fleet = Fleet::central(&[]);
    fleet.engine = Some(Engine::podman());
    fleet.site("home");
    let disk = Disk::mount(&fleet.path().join("home-n1"));
    fleet.node("home", "n1");
    let mut bed = Bed::prepared(fleet, "full disk", "node");
    disk.fill();
    bed.faults(1);
    // The journal has a reserve: the node works on, and is not ready.
    bed.install("reserved");
    let ready = |bed: &Bed| bed.fleet.json(["node", "show", "home/n1"])["ready"].clone();
    wait("the node to say so", || Some(()).filter(|()| ready(&bed) == false));
    // Without the reserve it stores nothing, so it accepts nothing.
    disk.fill();
    assert_eq!(bed.deploy("job"), 0);
    bed.known("job");
    bed.why("job", "");
    bed.over();
    disk.free();
    bed.end(&["reserved", "job", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn disk_of_a_site_is_full() {
    let mut fleet = Fleet::central(&[]);
    fleet.engine = Some(Engine::podman());
    let disk = Disk::mount(&fleet.path().join("home"));
    fleet.site("home");
    fleet.node("home", "n1");
    let mut bed = Bed::prepared(fleet, "full disk", "local");
    disk.fill();
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    wait("the site to say so", || {
        bed.fleet.process("home").log().contains("could not").then_some(())
    });
    bed.why("job", "");
    bed.over();
    disk.free();
    bed.end(&["job", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn disk_of_the_central_orchestrator_is_full() {
    let mut fleet = Fleet::empty(BTreeMap::new());
    let disk = Disk::mount(&fleet.path().join("central"));
    fleet.start_central(&[]);
    fleet.central_answers();
    let mut bed = Bed::prepared(fleet.with_node_on(Engine::podman()), "full disk", "central");
    bed.install("job");
    bed.fresh();
    disk.fill();
    bed.faults(1);
    assert_ne!(bed.deploy("second"), 0, "accepted without being stored");
    bed.work_at_site();
    bed.ask("central");
    bed.over();
    disk.free();
    wait("the order", || Some(()).filter(|()| bed.deploy("second") == 0));
    bed.end(&["job", "second", KEPT]);
}

/// A small disk of its own, gone with the test.
struct Disk(PathBuf);

impl Disk {
    fn mount(path: &Path) -> Disk {
        fs::create_dir_all(path).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=64m", "chaos"]).arg(path).status();
        assert!(mounted.unwrap().success(), "could not mount a small disk");
        Disk(path.to_owned())
    }

    /// Not a byte is left, also of what was freed since the last time.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).unwrap();
        let piece = vec![0; 1 << 16];
        while file.write_all(&piece).is_ok() {}
        while file.write_all(&piece[..1]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        // The fleet could not remove its folder while something was mounted in it.
        let _ = self.0.parent().map(fs::remove_dir_all);
    }
}
