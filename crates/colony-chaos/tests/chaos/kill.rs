//! `kill -9` at every point where a role keeps something: one test for each,
//! made of the list of points, so that none is without.

use colony_process::fail::{Point, Role};

use crate::bed::Bed;
use crate::engines::Engine;
use crate::story;

macro_rules! tests {
    ($($name:ident $variant:ident $role:ident $what:literal;)*) => {
        $(
            #[test]
            #[ignore = "takes long; make chaos runs it"]
            fn $name() {
                story::tell(Point::$variant);
            }
        )*
    };
}

colony_process::with_points!(tests);

/// The part a point is in.
pub(crate) fn part(point: Point) -> &'static str {
    match point.role() {
        Role::Central => "central",
        Role::Local => "home",
        Role::Node => "home/n1",
    }
}

pub(crate) fn role(point: Point) -> &'static str {
    match point.role() {
        Role::Central => "central",
        Role::Local => "local",
        Role::Node => "node",
    }
}

/// Docker and podman take turns from point to point. Docker has networks for
/// some thirty deployments on a whole machine; a long journal takes too many.
pub(crate) fn engine(point: Point) -> Engine {
    if matches!(point, Point::NodeJournalRewritten | Point::NodeJournalReplaced) {
        return Engine::podman();
    }
    let index = Point::ALL.iter().position(|it| *it == point).unwrap_or_default();
    if index % 2 == 0 { Engine::podman() } else { Engine::docker() }
}

/// A fleet where something runs, about to lose a role at that point.
pub(crate) fn bed(point: Point) -> Bed {
    Bed::ready(engine(point), "kill -9", role(point))
}
