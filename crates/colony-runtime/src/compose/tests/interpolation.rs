//! Variables, as in Compose.

use super::*;
use crate::compose::syntax::interpolate::Variables;

#[test]
fn variables_are_replaced() {
    check("a $MODE b", "a fast b");
    check("${MODE}s", "fasts");
    check("$$MODE $${MODE}", "$MODE ${MODE}");
    check("${NO:-d} ${NO-d} ${EMPTY:-d} ${EMPTY-d} ${MODE:-d}", "d d d  fast");
    check("${MODE:+a} ${NO:+a} ${EMPTY:+a} ${EMPTY+a} ${NO+a}", "a   a ");
    check("${MODE:?m} ${EMPTY?m}", "fast ");
    check("${NO:-${MODE}-${NO:-x}}", "fast-x");
    check("${MODE:-${NO:?never asked}}", "fast");
    check("${NO:-}|$NO|${NO}", "||");
    check("${NO:-a:b/c?d}", "a:b/c?d");
}

#[test]
fn what_is_no_variable_is_refused() {
    refused("${NO:?say it}", "parameter `NO` is required: say it");
    refused("${EMPTY:?}", "parameter `EMPTY` is required");
    refused("${NO:?${MODE}}", "parameter `NO` is required: fast");
    refused("5$", "`$` is followed by no name of a variable");
    refused("$1", "`$` is followed by no name of a variable");
    refused("${}", "`${` is followed by no name of a variable");
    refused("${MODE", "`${` is not closed, or has an operator that is not known");
    refused("${MODE:-x", "`${` is not closed, or has an operator that is not known");
    refused("${MODE/a/b}", "`${` is not closed, or has an operator that is not known");
    refused(&"${NO:-".repeat(50_000), "variables are nested too deep");
}

#[test]
fn variables_cannot_blow_a_file_up() {
    let parameters = BTreeMap::from([("A".to_owned(), "x".repeat(1 << 20))]);
    let variables = Variables::new(&parameters);
    let found = variables.expand(&"$A".repeat(100)).expect_err("too much text");
    assert_eq!(found.problem, "variables make the file too large");
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let parameters = parameters();
    assert_eq!(Variables::new(&parameters).expand(text).as_deref(), Ok(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let parameters = parameters();
    let found = Variables::new(&parameters).expand(text).expect_err("the text is refused");
    assert_eq!(found.problem, expected);
}
