//! Tests of what the table allows and refuses, and that the document matches
//! it.

use super::table::StateSet;
use super::*;
use crate::state::Op;

#[test]
fn first_install_goes_from_nothing_to_installed() {
    check("–", Trigger::Placed, "PENDING by T01");
    check("PENDING", Trigger::Start, "INSTALLING by T02");
    check("INSTALLING", Trigger::Healthy, "INSTALLED by T03");
}

#[test]
fn failures_keep_their_operation() {
    check("UPDATING", Trigger::Errored, "FAILED(update) by T04a");
    check("ROLLINGBACK", Trigger::Deadline, "FAILED(rollback) by T04b");
    check("DELETING", Trigger::Errored, "FAILED(delete) by T21");
    check("UNKNOWN(install)", Trigger::Deadline, "FAILED(install) by T17");
    check("FAILED(delete)", Trigger::Retry, "DELETING by T11");
    check("FAILED(rollback)", Trigger::Retry, "ROLLINGBACK by T11");
}

#[test]
fn a_lost_attempt_is_unknown_until_somebody_knows() {
    check("INSTALLING", Trigger::NodeLost, "UNKNOWN(install) by T05");
    check("UNKNOWN(rollback)", Trigger::Progress, "ROLLINGBACK by T15a");
    check("UNKNOWN(update)", Trigger::Healthy, "INSTALLED by T15b");
    check("UNKNOWN(rollback)", Trigger::Superseded, "UPDATING by T16b");
}

#[test]
fn a_newer_revision_supersedes() {
    check("INSTALLING", Trigger::Superseded, "INSTALLING by T06");
    check("ROLLINGBACK", Trigger::Superseded, "UPDATING by T07");
    check("FAILED(install)", Trigger::Revised, "INSTALLING by T12");
    check("FAILED(rollback)", Trigger::Revised, "UPDATING by T12");
}

#[test]
fn what_is_leaving_is_not_started_again() {
    check("DELETED", Trigger::Start, "DELETED has no transition on `start`");
    check("DELETING", Trigger::Healthy, "DELETING has no transition on `healthy`");
    check("FAILED(delete)", Trigger::Revised, "FAILED(delete) has no transition on `revised`");
    check("DELETING", Trigger::NodeLost, "DELETING has no transition on `node-lost`");
    check("–", Trigger::Remove, "without a placement there is no transition on `remove`");
}

#[test]
fn only_a_failed_update_rolls_back() {
    check("FAILED(update)", Trigger::Rollback, "ROLLINGBACK by T13");
    check("FAILED(install)", Trigger::Rollback, "FAILED(install) has no transition on `rollback`");
}

#[test]
fn every_failing_guard_gives_its_reason() {
    struct Offline;
    impl Facts for Offline {
        fn check(&self, guard: Guard) -> Result<(), Reason> {
            if guard == Guard::LastGoodKnown {
                return Err(Reason::NoLastGood);
            }
            if guard == Guard::TriesSpent {
                return Err(Reason::TriesLeft { count: 2 });
            }
            Ok(())
        }
    }

    let refusal = transition(Some(State::Failed(Op::Update)), Trigger::Rollback, &Offline)
        .expect_err("two guards disagree");

    assert_eq!(
        refusal.to_string(),
        "2 attempts are left; no revision was ever installed to go back to"
    );
}

#[test]
fn a_state_and_a_trigger_select_at_most_one_row() {
    for from in State::all().map(Some).chain([None]) {
        for row in TABLE.iter().filter(|it| it.starts_at(from)) {
            let same = TABLE.iter().filter(|it| it.trigger == row.trigger && it.starts_at(from));
            assert_eq!(same.count(), 1, "{from:?} on {:?}", row.trigger);
        }
    }
}

#[test]
fn every_state_but_deleted_can_be_left_and_reached() {
    for state in State::all().filter(|it| *it != State::Deleted) {
        assert!(TABLE.iter().any(|it| it.starts_at(Some(state))), "{state} cannot be left");
    }
    for state in State::all() {
        let reached = State::all()
            .map(Some)
            .chain([None])
            .any(|from| TABLE.iter().any(|row| row.starts_at(from) && row.target(from) == state));
        assert!(reached, "{state} cannot be reached");
    }
}

#[test]
fn the_document_prints_this_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machine.md");
    let document = std::fs::read_to_string(path).expect("docs/state-machine.md is readable");
    let table = markdown();
    assert!(document.contains(&table), "docs/state-machine.md should contain:\n\n{table}");
}

#[test]
fn reasons_say_what_was_noted_and_who_is_meant() {
    let since = crate::time::Timestamp(0);
    let held = |note: &str| Reason::HeldSite { by: "ana".to_owned(), note: note.to_owned(), since };
    assert_eq!(held("").to_string(), "ana holds the site");
    assert_eq!(held("a look first").to_string(), "ana holds the site: a look first");
    let full = |names: &str, taken| {
        let busy = names.split_whitespace().map(|it| it.parse().expect("a name")).collect();
        Reason::SlotsFull { some_nodes: busy, taken, limit: 5 }.to_string()
    };
    assert_eq!(full("a b", 2), "2 of 5 rollout slots taken by a, b");
    assert_eq!(full("a b c d", 5), "5 of 5 rollout slots taken by a, b, c and 2 more");
}

#[test]
fn every_row_is_printed_with_its_guards() {
    let table = markdown();
    for row in TABLE {
        let line = table.lines().find(|it| it.contains(&format!("| {} |", row.id)));
        let line = line.unwrap_or_else(|| panic!("{} is not printed:\n{table}", row.id));
        assert!(row.guards.iter().all(|it| line.contains(it.name())), "{line}");
    }
}

#[track_caller]
fn check(from: &str, trigger: Trigger, expected: &str) {
    let from = (from != "–").then(|| from.parse().expect("a state"));
    let actual = match transition(from, trigger, &AllGuardsPass) {
        Ok(change) => format!("{} by {}", change.to, change.row.id),
        Err(refusal) => refusal.to_string(),
    };
    assert_eq!(actual, expected);
}

/// The table as `docs/state-machine.md` prints it.
fn markdown() -> String {
    let head =
        "| row | from | to | trigger | by | guards |\n| --- | --- | --- | --- | --- | --- |\n";
    TABLE.iter().fold(head.to_owned(), |text, row| text + &markdown_row(row))
}

fn markdown_row(row: &Row) -> String {
    let from: Vec<String> = row.from.iter().map(|it| set_name(*it)).collect();
    let guards: Vec<&str> = row.guards.iter().map(|it| it.name()).collect();
    format!(
        "| {} | {} | {} | `{}` | {:?} | {} |\n",
        row.id,
        from.join(", "),
        to_name(row.to),
        row.trigger.name(),
        row.role,
        guards.join(", ")
    )
}

fn set_name(set: StateSet) -> String {
    match set {
        StateSet::Nothing => "–".to_owned(),
        StateSet::Only(state) => state.to_string(),
        StateSet::AnyFailed => "FAILED".to_owned(),
        StateSet::FailedButDelete => "FAILED (not delete)".to_owned(),
        StateSet::AnyUnknown => "UNKNOWN".to_owned(),
        StateSet::NotLeaving => "any but DELETING, DELETED".to_owned(),
    }
}

fn to_name(to: To) -> String {
    match to {
        To::Exactly(state) => state.to_string(),
        To::InProgress => "in-progress state of its operation".to_owned(),
        To::FailedIn => "FAILED".to_owned(),
        To::UnknownIn => "UNKNOWN".to_owned(),
        To::Renewed => "INSTALLING (nothing installed yet) or UPDATING".to_owned(),
    }
}
