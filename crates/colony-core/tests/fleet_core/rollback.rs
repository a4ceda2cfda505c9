//! A rollback at a site becomes a commit, or says why not.

use colony_core::fleet::{Effect, Revert, RevertDecision, revert_decision};
use colony_core::id::BlobId;
use colony_core::site::Action;
use colony_core::time::Timestamp;
use colony_testkit::{blob, commit_id, deployment_id};

use crate::kit::story::{ROLLBACK, app, plant_after};
use crate::kit::{Central, home};

#[test]
fn the_good_file_is_restored_while_git_holds_the_bad_one() {
    let restored = format!("restore {}", file("1.0.0"));
    check(Some("1.0.0"), Some("2.0.0"), &restored);
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    let (head, bad) = (short("3.0.0"), short("2.0.0"));
    check(Some("1.0.0"), Some("3.0.0"), &format!("Git holds {head}, no longer the bad {bad}"));
    check(Some("1.0.0"), None, &format!("the file with the bad {bad} was removed from Git"));
}

#[test]
fn a_file_that_is_good_and_bad_is_left_alone() {
    let text = format!("{} is the bad and the good file at once", short("2.0.0"));
    check(Some("2.0.0"), Some("2.0.0"), &text);
}

#[test]
fn a_first_install_leaves_its_file_in_quarantine() {
    let bad = short("2.0.0");
    let text = format!("nothing ran before {bad}; the file stays, quarantined");
    check(None, Some("2.0.0"), &text);
}

#[test]
fn a_rolled_back_site_asks_for_one_revert() {
    let mut central = Central::new();
    central.sync(&plant_after(ROLLBACK));
    let [Effect::Revert(revert)] = central.effects.as_slice() else {
        panic!("one revert is expected: {:?}", central.effects);
    };
    assert_eq!((revert.bad.blob.clone(), &revert.site), (file("2.0.0"), &home()));
    assert_eq!(revert.good.as_ref().map(|it| it.blob.clone()), Some(file("1.0.0")));
    assert_eq!(revert.reason.as_deref(), Some("exited on a"));
}

#[test]
fn revert_that_an_operator_ordered_names_the_operator() {
    let (mut central, mut plant) = (Central::new(), plant_after(&ROLLBACK[..2]));
    plant.command(Action::Rollback { deployment: deployment_id("hello") }).expect("rolls back");
    plant.converge();
    central.sync(&plant);
    let open = central.fleet.reverts_open();
    let [revert] = &open[..] else { panic!("one revert: {open:?}") };
    assert_eq!(revert.reason.as_deref(), Some("rolled-back (by ana)"));
    assert_eq!(revert.by.as_deref(), Some("ana"));
}

#[test]
fn a_revert_stays_open_until_it_is_committed() {
    let mut central = Central::new();
    let mut plant = plant_after(&ROLLBACK[..4]);
    central.sync(&plant);
    let [Effect::Revert(asked)] = &central.effects.clone()[..] else {
        panic!("a revert is expected");
    };
    assert_eq!(central.restored().reverts_open(), std::slice::from_ref(asked));

    let good = asked.good.as_ref().map(|it| it.blob.clone());
    let committed =
        central.fleet.change_committed(&home(), &asked.name, commit_id(9), good, Timestamp(1));
    committed.expect("home exists");
    assert_eq!(central.fleet.reverts_open(), []);
    central.persist_rest();
    plant.deploy(&app("1.0.0"));
    central.sync(&plant);
    assert_eq!(central.fleet.reverts_open(), []);
}

#[test]
fn a_revert_that_git_refused_waits_until_the_file_changes() {
    let mut central = Central::new();
    let plant = plant_after(&ROLLBACK[..4]);
    central.sync(&plant);
    let [asked] = &central.fleet.reverts_open()[..] else { panic!("a revert is expected") };
    let fleet = &mut central.fleet;
    let held = |blob| (home(), asked.name.clone(), Some(blob), "the file is too large");

    let (site, name, expected, reason) = held(asked.bad.blob.clone());
    fleet.change_refused(&site, &name, expected, reason, Timestamp(1)).expect("home exists");

    assert_eq!(fleet.reverts_open(), []);
    assert_eq!(fleet.site(&site).expect("home exists").rollup_status(&name).to_string(), "REFUSED");
    let why = fleet.why(&site, &name, None, Timestamp(5_000)).expect("home exists");
    let refused = why.iter().find(|it| it.text(Timestamp(5_000)).contains("the file is too large"));
    assert_eq!(refused.and_then(|it| it.since), Some(Timestamp(1)), "{why:?}");
    let (site, name, expected, reason) = held(file("1.0.0"));
    fleet.change_refused(&site, &name, expected, reason, Timestamp(1)).expect("home exists");
    assert_eq!(fleet.reverts_open().len(), 1, "another change was refused");
}

/// Decides the revert of 2.0.0 to `good` when Git holds `head`.
#[track_caller]
fn check(good: Option<&str>, head: Option<&str>, expected: &str) {
    let revision = |version: &str| colony_core::attempt::Revision {
        blob: file(version),
        workload: colony_margo::Digest::of(version.as_bytes()),
    };
    let revert = Revert {
        site: home(),
        deployment: deployment_id("hello"),
        name: crate::kit::name("hello"),
        bad: revision("2.0.0"),
        good: good.map(revision),
        by: None,
        reason: None,
    };
    let actual = match revert_decision(&revert, head.map(file).as_ref()) {
        RevertDecision::Restore(blob) => format!("restore {blob}"),
        RevertDecision::Skip(reason) => reason.to_string(),
    };
    assert_eq!(actual, expected);
}

fn file(version: &str) -> BlobId {
    blob(&app(version).text(&home()))
}

fn short(version: &str) -> String {
    file(version).as_str()[..7].to_owned()
}
