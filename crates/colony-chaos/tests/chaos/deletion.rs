//! `kill -9` of the orchestrators at their points while something is deleted:
//! for each point another deployment.

use colony_process::fail::Point;

use crate::ask::WAITS;
use crate::bed::{Bed, KEPT, is_gone};
use crate::engines::Engine;
use crate::kill::part;
use crate::kit::wait;

#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_dies_at_its_points_in_a_deletion() {
    let points = [
        Point::LocalGitFetched,
        Point::LocalGitTaken,
        Point::LocalStepDecided,
        Point::LocalStepStored,
        Point::LocalPollAnswered,
        Point::LocalReportStored,
        Point::LocalEventsRead,
        Point::LocalEventsTaken,
        Point::LocalEventsNoted,
    ];
    deletions(Bed::ready(Engine::podman(), "kill -9 in a removal", "local"), &points);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_dies_at_its_points_in_a_deletion() {
    let points = [
        Point::CentralChangeQueued,
        Point::CentralCommitOpen,
        Point::CentralCommitDone,
        Point::CentralObjectsWritten,
        Point::CentralBranchLocked,
        Point::CentralBranchMoved,
        Point::CentralGitWritten,
        Point::CentralGitRecorded,
        Point::CentralBatchStored,
    ];
    deletions(Bed::ready(Engine::podman(), "kill -9 in a removal", "central"), &points);
}

#[track_caller]
fn deletions(mut bed: Bed, points: &[Point]) {
    let names: Vec<String> = points.iter().map(|it| it.name().replace('_', "-")).collect();
    assert!(names.iter().all(|it| bed.deploy(it) == 0));
    names.iter().for_each(|it| drop(bed.installed(it)));
    for (name, point) in names.iter().zip(points) {
        deletion(&mut bed, name, *point);
    }
    bed.over();
    bed.end(&[KEPT]);
}

#[track_caller]
fn deletion(bed: &mut Bed, name: &str, point: Point) {
    let delete = ["deployment", "delete", name, "--yes"];
    let part = part(point);
    let own = bed.containers_of(name);
    assert!(!own.is_empty(), "`{name}` has no container");
    bed.arm(part, point, 1);
    let taken = bed.fleet.colony(delete).code == 0;
    bed.died(part, point);
    bed.why(if part == "central" { WAITS } else { name }, part);
    bed.restart(part);
    bed.fleet.central_answers();
    if !taken {
        // The operator was not told that it was accepted, and asks again.
        wait("the order", || {
            Some(()).filter(|()| bed.fleet.colony(delete).code == 0 || is_gone(&bed.fleet, name))
        });
    }
    bed.gone(name);
    let left = bed.fleet.containers();
    assert!(own.keys().all(|it| !left.contains_key(it)), "containers of `{name}` are left");
}
