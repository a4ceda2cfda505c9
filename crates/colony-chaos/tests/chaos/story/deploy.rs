//! A deployment on its way from an operator to a container, and back.

use std::path::Path;

use colony_process::fail::Point;

use crate::ask::WAITS;
use crate::bed::{Bed, KEPT};
use crate::kill::{bed, engine, part, role};
use crate::kit::{Fleet, Shop, git, wait, web};

const JOB: &str = "job";

/// The role dies once, in the middle of a deployment.
pub(super) fn once(point: Point) {
    rounds(bed(point), point, &[1]);
}

/// The role dies at its next step, and the one after, and so on.
pub(super) fn again_and_again(point: Point) {
    rounds(bed(point), point, &[1, 2, 3]);
}

/// The repository is not the central orchestrator's own.
pub(super) fn elsewhere(point: Point) {
    let folder = tempfile::tempdir().unwrap();
    let url = repository(folder.path());
    let fleet = Fleet::central(&["--git", &url]).with_node_on(engine(point));
    rounds(Bed::prepared(fleet, "kill -9", role(point)), point, &[1]);
}

/// A bare repository with one commit.
pub(crate) fn repository(folder: &Path) -> String {
    git(folder, &["init", "-q", "-b", "main", "work"]);
    let work = folder.join("work");
    git(&work, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    git(folder, &["clone", "-q", "--bare", "work", "deployments.git"]);
    folder.join("deployments.git").display().to_string()
}

/// The role dies at the pass of each round, until the job is done.
pub(crate) fn rounds(mut bed: Bed, point: Point, passes: &[u64]) {
    let part = part(point);
    let mut deployed = false;
    for (round, pass) in passes.iter().enumerate() {
        bed.arm(part, point, *pass);
        if round == 0 {
            deployed = bed.deploy(JOB) == 0;
            bed.died(part, point);
        } else {
            bed.restart(part);
            deployed = deployed || is_ordered(&mut bed, part);
            if !bed.died_or(part, |fleet| is_installed(fleet, JOB)) {
                break;
            }
        }
        if part == "central" {
            bed.why(WAITS, part);
        } else if round == 0 {
            bed.why(JOB, part);
        }
    }
    bed.over();
    if bed.fleet.process(part).has_ended() {
        bed.restart(part);
    }
    bed.fleet.central_answers();
    if !deployed {
        // The operator was not told that it was accepted, and asks again.
        wait("the order", || Some(()).filter(|()| bed.deploy(JOB) == 0));
    }
    bed.end(&[JOB, KEPT]);
}

/// The operator was not told that it was accepted, and asks again, unless the
/// role dies before it answers.
fn is_ordered(bed: &mut Bed, part: &str) -> bool {
    wait("the order, or the end of a round", || {
        if bed.fleet.process(part).has_ended() {
            return Some(false);
        }
        (bed.deploy(JOB) == 0).then_some(true)
    })
}

fn is_installed(fleet: &Fleet, name: &str) -> bool {
    let shown = fleet.colony(["deployment", "show", name, "-o", "json"]);
    shown.code == 0 && shown.json()["outcome"] == "installed"
}

/// Deployments come until the node's journal is written anew.
pub(super) fn for_long(point: Point) {
    let mut bed = bed(point);
    let part = part(point);
    bed.arm(part, point, 1);
    let mut names = Vec::new();
    while !bed.fleet.process(part).has_ended() {
        assert!(names.len() < 40, "not reached: {}", point.name());
        let name = format!("job{}", names.len());
        bed.deploy(&name);
        wait("the deployment, or the end of the node", || {
            let ended = bed.fleet.process(part).has_ended();
            (ended || is_installed(&bed.fleet, &name)).then_some(())
        });
        names.push(name);
    }
    bed.died(part, point);
    bed.ask(part);
    bed.over();
    bed.restart(part);
    let names: Vec<&str> = names.iter().map(String::as_str).chain([KEPT]).collect();
    bed.end(&names);
}

/// A bad version is rolled back, and Git has to follow.
pub(super) fn back(point: Point) {
    let mut bed = bed(point);
    let shop = Shop::open();
    let bad = web(&["image: SHOP/busybox:1", "command: ['false']"]);
    shop.put("pump", "1.0", &Shop::good()).put("pump", "1.1", &bad).serve(&bed.fleet);
    bed.fleet.colony(["deploy", "pump", "--version", "1.0", "--yes"]).ok();
    bed.installed("pump");
    let part = part(point);
    bed.arm(part, point, 1);
    bed.fleet.colony(["deploy", "pump", "--version", "1.1", "--yes"]).ok();
    bed.died(part, point);
    bed.ask(part);
    bed.over();
    bed.restart(part);
    bed.fleet.see("pump", |it| it["outcome"] == "rolled-back");
    bed.end(&[KEPT]);
}

/// An order to a site.
pub(super) fn order(point: Point) {
    let mut bed = bed(point);
    let part = part(point);
    bed.arm(part, point, 1);
    let taken = bed.fleet.colony(["node", "cordon", "home/n1"]).code == 0;
    bed.died(part, point);
    bed.ask(part);
    bed.over();
    bed.restart(part);
    bed.fleet.central_answers();
    if !taken {
        bed.fleet.colony(["node", "cordon", "home/n1"]);
    }
    let node = || bed.fleet.json(["node", "show", "home/n1"]);
    wait("the order to be executed", || Some(()).filter(|()| node()["cordoned"] == true));
    bed.fleet.colony(["node", "uncordon", "home/n1"]).ok();
    wait("the order to be executed", || Some(()).filter(|()| node()["cordoned"] != true));
    bed.end(&[KEPT]);
}
