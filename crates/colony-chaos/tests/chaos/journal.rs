//! `kill -9` of a node before, in and after the lines of its journal, again and
//! again until an operation is done; the first install is in `kill`.

use colony_process::fail::Point;
use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::Fleet;
use crate::rollout::{STAGED, has_new, is_waiting, rolls_out, update};

const NODE: &str = "home/n1";
const LINES: [Point; 3] =
    [Point::NodeStepDecided, Point::NodeJournalAppended, Point::NodeJournalSynced];
/// Of each line of the journal, up to the so many-th after a start.
const DEPTH: u64 = 2;

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_its_journal_in_an_update() {
    let mut bed = Bed::ready(Engine::docker(), "kill -9 in an update", "node");
    bed.install("job");
    dies(&mut bed, |it| update(it, "1.1", &[]), has_new);
    bed.fleet.see("job", has_new);
    bed.end(&["job", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_its_journal_in_a_removal() {
    let mut bed = Bed::ready(Engine::podman(), "kill -9 in a removal", "node");
    bed.install("job");
    let delete = ["deployment", "delete", "job", "--yes"];
    dies(&mut bed, |it| drop(it.fleet.colony(delete).ok()), |it| it["outcome"] == "deleted");
    bed.gone("job");
    bed.end(&[KEPT]);
}

/// The old one runs on all the time.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_its_journal_in_a_stage() {
    let mut bed = Bed::ready(Engine::podman(), "kill -9 in a stage", "node");
    bed.install("job");
    bed.remember();
    dies(&mut bed, |it| update(it, "1.1", STAGED), is_waiting);
    bed.fleet.see("job", is_waiting);
    bed.end(&[KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_at_its_journal_in_a_swap() {
    let mut bed = Bed::ready(Engine::docker(), "kill -9 in a swap", "node");
    rolls_out(&bed, STAGED);
    let promote = ["deployment", "promote", "job", "--site", "home"];
    dies(&mut bed, |it| drop(it.fleet.colony(promote).ok()), has_new);
    bed.fleet.see("job", has_new);
    bed.end(&["job", KEPT]);
}

/// The node dies at one line after the other until all is done.
#[track_caller]
fn dies(bed: &mut Bed, order: impl Fn(&Bed), done: fn(&Value) -> bool) {
    let is_done = |fleet: &Fleet| {
        let shown = fleet.colony(["deployment", "show", "job", "-o", "json"]);
        shown.code == 0 && done(&shown.json())
    };
    bed.arm(NODE, LINES[0], 1);
    order(bed);
    bed.died(NODE, LINES[0]);
    bed.why("job", NODE);
    let all = (1..=DEPTH).flat_map(|pass| LINES.map(|it| (it, pass)));
    for (point, pass) in all.skip(1) {
        bed.arm(NODE, point, pass);
        bed.restart(NODE);
        if !bed.died_or(NODE, is_done) {
            break;
        }
    }
    bed.over();
    if bed.fleet.process(NODE).has_ended() {
        bed.restart(NODE);
    }
    assert!(bed.record.faults >= LINES.len() as u64, "it hardly died: {:?}", bed.record);
}
