//! A certificate is renewed, because its owner's clock says that half of its
//! life is over.

use colony_process::fail::Point;

use crate::bed::KEPT;
use crate::clock;
use crate::kill::{bed, part};
use crate::kit::wait;

/// Nodes have theirs for 30 days.
pub(super) fn node(point: Point) {
    renew(point, "home/n1", 16);
}

/// Sites have theirs for 90 days.
pub(super) fn site(point: Point) {
    renew(point, "home", 46);
}

fn renew(point: Point, owner: &str, days: i64) {
    let mut bed = bed(point);
    bed.fleet.process(owner).kill();
    bed.arm(part(point), point, 1);
    clock::set(bed.fleet.process(owner), days * 86_400);
    bed.restart(owner);
    bed.died(part(point), point);
    bed.ask(part(point));
    bed.over();
    bed.restart(part(point));
    bed.fleet.central_answers();
    wait("the renewal", || bed.fleet.process(owner).log().contains("renewed").then_some(()));
    // Whoever else looks at its certificates has another time.
    bed.fleet.process(owner).kill();
    clock::right(bed.fleet.process(owner));
    bed.restart(owner);
    bed.install("job");
    bed.end(&["job", KEPT]);
}
