//! First starts and joins: what was half done is found and finished by the
//! same command.

use std::collections::BTreeMap;

use colony_process::fail::Point;

use crate::ask::ASKED;
use crate::bed::Bed;
use crate::kill::{engine, part, role};
use crate::kit::{Fleet, wait};

/// The central orchestrator dies in its first start.
pub(super) fn central(point: Point) {
    let mut bed = Bed::of(Fleet::empty(BTreeMap::new()), "kill -9", role(point));
    bed.arm("central", point, 1);
    bed.fleet.start_central(&[]);
    bed.died("central", point);
    bed.nothing_to_ask("there is no fleet yet");
    bed.over();
    bed.restart("central");
    bed.fleet.central_answers();
    bed.fleet = bed.fleet.with_node_on(engine(point));
    bed.install("job");
    bed.end(&["job"]);
}

/// A site joins; it or the central orchestrator dies meanwhile.
pub(super) fn site(point: Point) {
    let mut bed = Bed::of(Fleet::central(&[]), "kill -9", role(point));
    bed.fleet.engine = Some(engine(point));
    let invitation = bed.fleet.colony(["site", "add", "home"]).ok().invitation();
    bed.arm(part(point), point, 1);
    bed.fleet.local("home", &invitation);
    bed.died(part(point), point);
    ask(&mut bed, part(point));
    bed.over();
    bed.restart(part(point));
    bed.fleet.central_answers();
    bed.fleet.site_answers("home");
    bed.fleet.node("home", "n1");
    bed.install("job");
    bed.end(&["job"]);
}

/// A node joins; it or its site dies meanwhile.
pub(super) fn node(point: Point) {
    let mut bed = Bed::of(Fleet::central(&[]), "kill -9", role(point));
    bed.fleet.engine = Some(engine(point));
    bed.fleet.site("home");
    bed.order();
    let invitation = bed.fleet.colony(["node", "invite", "--site", "home"]).ok().invitation();
    bed.arm(part(point), point, 1);
    bed.fleet.joining_node("home/n1", "n1", &invitation);
    bed.died(part(point), point);
    bed.why(ASKED, part(point));
    bed.over();
    bed.restart(part(point));
    // Whoever starts nodes starts them again when they end, as systemd does.
    wait("the node", || {
        if bed.fleet.process("home/n1").has_ended() {
            bed.restart("home/n1");
        }
        Some(()).filter(|()| bed.fleet.presence("home/n1") == "online")
    });
    bed.install("job");
    bed.end(&["job"]);
}

/// Something is ordered for the site that is about to join.
fn ask(bed: &mut Bed, down: &str) {
    if down == "central" {
        return bed.nothing_to_ask("nothing was ordered, and nobody takes an order");
    }
    bed.ask(down);
}
