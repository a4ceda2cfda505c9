//! What is kept beside deployments: tokens, packages, reports, backups. Half of
//! it is finished or done again by the same command.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use colony_process::fail::Point;

use crate::bed::{Bed, KEPT};
use crate::kill::{bed, part};
use crate::kit::{git, wait};

/// A token whose secret nobody heard is told of, and replaced.
pub(super) fn token(point: Point) {
    let mut bed = bed(point);
    let create = ["token", "create", "ann", "--role", "viewer"];
    dies_in(&mut bed, point, &create);
    back(&mut bed, point);
    let again = bed.fleet.colony(create);
    assert_ne!(again.code, 0, "a token took the place of another: {again:?}");
    again.says("ann");
    bed.fleet.colony(["token", "delete", "ann"]).ok();
    bed.fleet.colony(create).ok();
    bed.end(&[KEPT]);
}

/// A registry that was read and is not known is added again.
pub(super) fn packages(point: Point) {
    let mut bed = bed(point);
    let folder = bed.fleet.path().join("shop").display().to_string();
    fs::create_dir_all(format!("{folder}/pump")).unwrap();
    fs::write(format!("{folder}/pump/margo.yaml"), PACKAGE).unwrap();
    git(folder.as_ref(), &["init", "-q", "-b", "main"]);
    git(folder.as_ref(), &["add", "."]);
    git(folder.as_ref(), &["commit", "-q", "-m", "Applications"]);
    let add = ["app", "add", &folder, "--name", "shop"];
    dies_in(&mut bed, point, &add);
    back(&mut bed, point);
    bed.fleet.colony(add).ok();
    bed.fleet.colony(["app", "show", "pump"]).ok().says("1.0");
    bed.end(&[KEPT]);
}

/// A node joins, and its site tells that to the fleet.
pub(super) fn report(point: Point) {
    let mut bed = bed(point);
    let invitation = bed.fleet.colony(["node", "invite", "--site", "home"]).ok().invitation();
    bed.arm(part(point), point, 1);
    bed.fleet.joining_node("home/n2", "n2", &invitation);
    bed.died(part(point), point);
    bed.ask(part(point));
    back(&mut bed, point);
    wait("the node", || Some(()).filter(|()| bed.fleet.presence("home/n2") == "online"));
    bed.install("job");
    bed.end(&["job", KEPT]);
}

/// A node is retired; what else runs is not touched by it.
pub(super) fn retirement(point: Point) {
    let mut bed = bed(point);
    bed.fleet.node("home", "n2");
    bed.installed(KEPT);
    bed.arm(part(point), point, 1);
    bed.fleet.colony(["node", "retire", "home/n2", "--yes"]).ok();
    bed.died(part(point), point);
    bed.ask(part(point));
    back(&mut bed, point);
    let left = || bed.fleet.colony(["node", "list", "--site", "home"]).ok().out.contains("n2");
    wait("the node to be gone", || (!left()).then_some(()));
    bed.end(&[KEPT]);
}

/// The orchestrator runs on while its backup is cut off.
pub(super) fn backup(point: Point) {
    let mut bed = bed(point);
    let file = bed.fleet.path().join("fleet.tar").display().to_string();
    command_dies(&mut bed, point, &["central", "backup", &file]);
    assert!(!fs::exists(&file).unwrap(), "half a backup");
    bed.nothing_to_ask("the orchestrator runs on, and nothing waits for its backup");
    bed.over();
    in_data(&bed, &["central", "backup", &file]);
    bed.install("job");
    bed.end(&["job", KEPT]);
}

/// Nothing is in its place before all of it is.
pub(super) fn restore(point: Point) {
    let mut bed = bed(point);
    let file = bed.fleet.path().join("fleet.tar").display().to_string();
    in_data(&bed, &["central", "backup", &file]);
    bed.fleet.process("central").kill();
    let data = bed.fleet.path().join("central/central");
    fs::remove_dir_all(&data).unwrap();
    command_dies(&mut bed, point, &["central", "restore", &file]);
    assert!(!data.exists(), "half an orchestrator");
    bed.ask("central");
    bed.over();
    in_data(&bed, &["central", "restore", &file]);
    bed.restart("central");
    bed.fleet.central_answers();
    bed.end(&[KEPT]);
}

fn dies_in(bed: &mut Bed, point: Point, command: &[&str]) {
    bed.arm(part(point), point, 1);
    assert_ne!(bed.fleet.type_in(command).code, 0, "answered by whom?");
    bed.died(part(point), point);
    bed.ask(part(point));
}

fn back(bed: &mut Bed, point: Point) {
    bed.over();
    bed.restart(part(point));
    bed.fleet.central_answers();
}

/// A command works in the orchestrator's folder and dies there.
fn command_dies(bed: &mut Bed, point: Point, command: &[&str]) {
    bed.arm("command", point, 1);
    let trap = bed.fleet.trap("command");
    let data = bed.fleet.path().join("central");
    let mut colony = Command::new(crate::program());
    colony.arg("--data").arg(data).args(command).env("COLONY_FAILPOINT", &trap);
    let status = colony.status().unwrap();
    assert_eq!(status.signal(), Some(9), "not reached: {}", point.name());
    assert!(!trap.exists(), "somebody else killed it");
    bed.faults(1);
}

#[track_caller]
fn in_data(bed: &Bed, command: &[&str]) {
    let data = bed.fleet.path().join("central").display().to_string();
    bed.fleet.type_in(&[&["--data", &data], command].concat()).ok();
}

const PACKAGE: &str = "\
apiVersion: v1
id: pump
metadata:
  name: pump
  version: '1.0'
  catalog: {organization: [{name: Example}]}
deploymentProfiles:
  - id: compose
    type: compose
    components:
      - name: web
        properties:
          repository: oci://127.0.0.1:1/pump
          revision: '1.0.0'
";
