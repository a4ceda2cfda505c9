//! One state for many placements: the worst wins.

use crate::state::{Op, State};

/// The state of a deployment at a site, or `None` if nothing is placed.
pub fn worst(states: impl IntoIterator<Item = State>) -> Option<State> {
    states.into_iter().max_by_key(|it| severity(*it))
}

fn severity(state: State) -> (u8, u8) {
    let rank = match state {
        State::Failed(_) => 8,
        State::Unknown(_) => 7,
        State::Deleting => 6,
        State::RollingBack => 5,
        State::Updating => 4,
        State::Installing => 3,
        State::Pending => 2,
        State::Installed => 1,
        State::Deleted => 0,
    };
    (rank, state.op().map_or(0, op_rank))
}

/// Breaks ties, so that the result does not depend on the order.
fn op_rank(op: Op) -> u8 {
    match op {
        Op::Install => 1,
        Op::Update => 2,
        Op::Rollback => 3,
        Op::Delete => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_placement_wins() {
        check("INSTALLED PENDING", "PENDING");
        check("INSTALLED UPDATING ROLLINGBACK", "ROLLINGBACK");
        check("DELETING UNKNOWN(update) INSTALLED", "UNKNOWN(update)");
        check("UNKNOWN(update) FAILED(install)", "FAILED(install)");
        check("FAILED(delete) FAILED(install)", "FAILED(delete)");
        check("FAILED(install) FAILED(delete)", "FAILED(delete)");
        check("DELETED INSTALLED", "INSTALLED");
        check("", "nothing");
    }

    #[track_caller]
    fn check(states: &str, expected: &str) {
        let states = states.split_whitespace().map(|it| it.parse().expect("a state"));
        let worst = worst(states).map_or("nothing".to_owned(), |it| it.to_string());
        assert_eq!(worst, expected);
    }
}
