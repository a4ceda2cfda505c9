//! What a health check that did not pass is shown as.

use crate::containers::health::check::Check;

/// How much of a check's output is read, and shown.
pub(crate) const OUTPUT_LIMIT: usize = 4 << 10;
const OUTPUT_SHOWN: usize = 200;

pub(crate) fn complaint(output: &str, code: i64) -> String {
    let line = output.lines().map(str::trim).rfind(|it| !it.is_empty());
    line.map_or_else(|| format!("exit code {code}"), shortened)
}

pub(crate) fn shortened(line: &str) -> String {
    line.trim().chars().take(OUTPUT_SHOWN).collect()
}

/// The cause cannot be seen from outside, so the message names both.
pub(crate) fn late(check: &Check) -> String {
    let timeout = check.timeout.as_secs_f64();
    format!(
        "the check did not answer within {timeout} s; the node may be overloaded, or the check is \
         too slow"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn check_without_an_answer_may_be_the_fault_of_the_node() {
        for (millis, expected) in [(30_000, "30 s"), (500, "0.5 s")] {
            let mut check = Check::with_defaults(Vec::new());
            check.timeout = Duration::from_millis(millis);
            let expected = format!(
                "the check did not answer within {expected}; the node may be overloaded, or the \
                 check is too slow"
            );
            assert_eq!(late(&check), expected);
        }
    }

    #[test]
    fn a_check_complains_with_its_last_line() {
        assert_eq!(complaint("one\nGET / 500\n\n", 1), "GET / 500");
        assert_eq!(complaint("", 7), "exit code 7");
        assert_eq!(complaint(&"x".repeat(999), 1).len(), OUTPUT_SHOWN);
    }
}
