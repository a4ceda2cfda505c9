//! Table entries that no story can cover: the reason, and the test that covers
//! each.

use std::fmt;

/// A table entry that a run need not cover.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Excuse {
    table: &'static str,
    name: &'static str,
    why: &'static str,
    /// The file of the test below `crates`, and its name.
    test: (&'static str, &'static str),
}

impl fmt::Display for Excuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not in a simulation: {}; tested by `{}` in {}",
            self.why, self.test.1, self.test.0
        )
    }
}

const CODES: &str = "error codes";
const CAUSES: &str = "causes of why";
const BEYOND: &str = "colony-sim/tests/beyond.rs";
const GATEWAY: &str = "told by a Margo gateway; all simulated devices are our own";

const EXCUSES: &[Excuse] = &[
    Excuse {
        table: CODES,
        name: "node-shutdown",
        why: "no role of ours tells it: a node that stops leaves its attempt open",
        test: (BEYOND, "codes_of_others_are_tried_again_or_condemn_and_are_told"),
    },
    Excuse {
        table: CODES,
        name: "interference",
        why: "nothing stops or removes a simulated container from outside again and again",
        test: (
            "colony-core/src/node/tests/repair.rs",
            "drift_that_goes_on_is_reported_as_interference",
        ),
    },
    Excuse {
        table: CODES,
        name: "101",
        why: GATEWAY,
        test: (BEYOND, "codes_of_others_are_tried_again_or_condemn_and_are_told"),
    },
    Excuse {
        table: CODES,
        name: "102",
        why: GATEWAY,
        test: (BEYOND, "codes_of_others_are_tried_again_or_condemn_and_are_told"),
    },
    Excuse {
        table: CODES,
        name: "103",
        why: GATEWAY,
        test: (BEYOND, "codes_of_others_are_tried_again_or_condemn_and_are_told"),
    },
    Excuse {
        table: CAUSES,
        name: "node-retired",
        why: "what is on a node leaves the site in the step that retires it",
        test: (BEYOND, "causes_that_no_site_can_come_to_still_say_what_they_mean"),
    },
    Excuse {
        table: CAUSES,
        name: "rollback-refused",
        why: "a way back begins in the step of its verdict: nothing comes in between",
        test: (BEYOND, "causes_that_no_site_can_come_to_still_say_what_they_mean"),
    },
    Excuse {
        table: CAUSES,
        name: "not-stageable",
        why: "said of devices of another make; all simulated devices are our own",
        test: (
            "colony-core/tests/site_steps/blue_green.rs",
            "foreign_device_is_refused_and_holds_nobody_up",
        ),
    },
    Excuse {
        table: CAUSES,
        name: "change-refused",
        why: "the simulated repository takes every change",
        test: (
            "colony-central/tests/central/repository/queue.rs",
            "a_change_that_git_refuses_fails_alone",
        ),
    },
    Excuse {
        table: CAUSES,
        name: "inconsistent-report",
        why: "no sound site reports what does not fit: a story in which CO says so ends badly",
        test: ("colony-core/tests/fleet_core/why.rs", "event_that_does_not_fit_is_told"),
    },
];

/// Why `name` of `table` need not be covered, if that is so.
pub(crate) fn excuse(table: &str, name: &str) -> Option<&'static Excuse> {
    EXCUSES.iter().find(|it| it.table == table && it.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_excuse_are_there() {
        for Excuse { name, test: (file, test), .. } in EXCUSES {
            let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).expect("the file of the test is readable");
            assert!(text.contains(&format!("fn {test}()")), "{name}: no `{test}` in {file}");
        }
    }
}
