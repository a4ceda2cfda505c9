//! `kill -9` of a node before and after everything it does to its engine, in
//! every operation but the first install, whose tests are in `kill`. What runs
//! is looked at after each death, so that it is known which action was cut.

use colony_process::fail::Point;
use colony_process::fail::Point::{NodeActionBegun as Begun, NodeActionEnded as Ended};
use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::rollout::{STAGED, has_new, rolls_out, update, waits};

const NODE: &str = "home/n1";

/// Where the node dies, the n-th time it comes by after its start, and what
/// of the job runs then: `old`, `new`, `staged`.
type Cut = (Point, u64, &'static [&'static str]);

/// Prepare, clear, start.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_every_action_of_an_update() {
    dies_in_an_update(Engine::podman());
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_every_action_of_an_update_on_containerd() {
    dies_in_an_update(Engine::containerd());
}

#[track_caller]
fn dies_in_an_update(engine: Engine) {
    let mut story = Story::begin(engine, "kill -9 in an update");
    story.bed.install("job");
    story.old = story.runs();
    story.arm(Begun, 1);
    update(&story.bed, "1.1", &[]);
    story.cuts(&[
        (Begun, 1, &["old"]),
        (Ended, 1, &["old"]),
        (Begun, 2, &["old"]),
        (Ended, 2, &[]),
        (Begun, 2, &[]),
        (Ended, 2, &["new"]),
    ]);
    let bed = story.over();
    bed.fleet.see("job", has_new);
    bed.end(&["job", KEPT]);
}

/// Everything of it is removed at once.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_every_action_of_a_removal() {
    let mut story = Story::begin(Engine::docker(), "kill -9 in a removal");
    story.bed.install("job");
    story.old = story.runs();
    story.arm(Begun, 1);
    story.bed.fleet.colony(["deployment", "delete", "job", "--yes"]).ok();
    story.cuts(&[(Begun, 1, &["old"]), (Ended, 1, &[])]);
    let bed = story.over();
    bed.gone("job");
    bed.end(&[KEPT]);
}

/// Prepare, stage; the old one runs on.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_every_action_of_a_stage() {
    let mut story = Story::begin(Engine::docker(), "kill -9 in a stage");
    story.bed.install("job");
    story.bed.remember();
    story.old = story.runs();
    story.arm(Begun, 1);
    update(&story.bed, "1.1", STAGED);
    story.cuts(&[
        (Begun, 1, &["old"]),
        (Ended, 1, &["old"]),
        (Begun, 2, &["old"]),
        (Ended, 2, &["old", "staged"]),
    ]);
    let bed = story.over();
    waits(&bed);
    bed.end(&[KEPT]);
}

/// What was staged goes; the old one runs on.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_every_action_of_an_abort() {
    let mut story = Story::begin(Engine::podman(), "kill -9 in an abort");
    rolls_out(&story.bed, STAGED);
    story.old = story.active();
    let all = story.bed.fleet.containers().into_iter();
    story.bed.containers.extend(all.filter(|it| story.old.contains(&it.0)));
    story.arm(Begun, 1);
    story.bed.fleet.colony(["deployment", "abort", "job", "--site", "home"]).ok();
    story.cuts(&[(Begun, 1, &["old", "staged"]), (Ended, 1, &["old"])]);
    let bed = story.over();
    bed.fleet.see("job", |it| it["outcome"] == "rolled-back");
    bed.end(&[KEPT]);
}

/// Prepare, and one action in which the old one stops and the new one starts;
/// the moment between the two is in `swap`. What is staged goes in the end.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_every_action_of_a_swap() {
    let mut story = Story::begin(Engine::docker(), "kill -9 in a swap");
    rolls_out(&story.bed, STAGED);
    story.old = story.active();
    story.arm(Begun, 1);
    story.bed.fleet.colony(["deployment", "promote", "job", "--site", "home"]).ok();
    story.cuts(&[
        (Begun, 1, &["old", "staged"]),
        (Ended, 1, &["old", "staged"]),
        (Begun, 2, &["old", "staged"]),
        (Ended, 2, &["new", "staged"]),
    ]);
    // It counts as installed before what is staged goes.
    story.cuts_unasked(&[(Begun, 1, &["new", "staged"]), (Ended, 1, &["new"])]);
    let bed = story.over();
    bed.fleet.see("job", has_new);
    bed.end(&["job", KEPT]);
}

struct Story {
    bed: Bed,
    /// The containers the job had before.
    old: Vec<String>,
    armed: bool,
}

impl Story {
    fn begin(engine: Engine, fault: &str) -> Story {
        Story { bed: Bed::ready(engine, fault, "node"), old: Vec::new(), armed: false }
    }

    fn arm(&mut self, point: Point, pass: u64) {
        self.bed.arm(NODE, point, pass);
        self.armed = true;
    }

    #[track_caller]
    fn cuts(&mut self, cuts: &[Cut]) {
        for cut in cuts {
            self.cut(*cut);
            self.bed.why("job", NODE);
        }
    }

    #[track_caller]
    fn cuts_unasked(&mut self, cuts: &[Cut]) {
        cuts.iter().for_each(|it| self.cut(*it));
    }

    #[track_caller]
    fn cut(&mut self, (point, pass, expected): Cut) {
        if !std::mem::take(&mut self.armed) {
            self.bed.arm(NODE, point, pass);
            self.bed.restart(NODE);
        }
        self.bed.died(NODE, point);
        assert_eq!(self.state(), expected, "at pass {pass} of {}", point.name());
    }

    /// What of the job runs.
    fn state(&self) -> Vec<&'static str> {
        let (active, staged) = (self.active(), self.staged());
        let old = active.iter().any(|it| self.old.contains(it));
        let new = active.iter().any(|it| !self.old.contains(it));
        let all = [(old, "old"), (new, "new"), (!staged.is_empty(), "staged")];
        all.into_iter().filter(|it| it.0).map(|it| it.1).collect()
    }

    fn runs(&self) -> Vec<String> {
        self.bed.labelled("job", |it| it["State"] == "running")
    }

    fn active(&self) -> Vec<String> {
        self.bed.labelled("job", |it| it["State"] == "running" && !is_staged(it))
    }

    fn staged(&self) -> Vec<String> {
        self.bed.labelled("job", |it| it["State"] == "running" && is_staged(it))
    }

    /// Nothing more happens to the node.
    fn over(mut self) -> Bed {
        self.bed.over();
        self.bed.restart(NODE);
        self.bed
    }
}

fn is_staged(container: &Value) -> bool {
    container["Labels"]["colony.staged"] == "true"
}
