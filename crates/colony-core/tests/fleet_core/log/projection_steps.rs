//! The projection after every step of a story, against what the site says of itself.

use colony_core::fleet::{Fleet, PlacementBucket};
use colony_core::id::SiteName;
use colony_core::site::{Action, Command, Input};
use colony_core::time::Timestamp;
use colony_testkit::{App, Plant, deployment_id};

use crate::kit::story::{STORIES, Step, app, removed_file, story};
use crate::kit::{Central, home, name, text};

pub(crate) const CANARY: &str =
    "strategy: {type: canary, canary: 1, steps: [2], soak: 1m, promote: manual, maxUnavailable: 5}";
pub(crate) const BLUE_GREEN: &str = "strategy: {type: blue-green, soak: 1m}";

const STOPPING: &str = "strategy: {type: canary, canary: 1, soak: 1m}\nonFailure: stop";

#[test]
fn steps_of_a_canary_are_told() {
    let story: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0").with(CANARY)),
        Plant::converge,
        |it| it.pass(61),
        |it| command(it, Action::Promote { deployment: deployment_id("hello") }),
        |it| command(it, pause()),
        |it| it.report("a", "hello", "failed:engine-error"),
        |it| command(it, Action::Resume { deployment: deployment_id("hello") }),
        |it| it.pass(8),
        Plant::converge,
        |it| it.pass(61),
        |it| command(it, Action::Promote { deployment: deployment_id("hello") }),
        Plant::converge,
    ];
    check(story);
}

#[test]
fn steps_of_blue_green_are_told() {
    let story: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0").with(BLUE_GREEN)),
        Plant::converge,
        |it| it.pass(61),
        Plant::converge,
        |it| it.deploy(&app("3.0.0").with(BLUE_GREEN)),
        |it| command(it, Action::Abort { deployment: deployment_id("hello"), note: String::new() }),
        Plant::converge,
    ];
    check(story);
}

#[test]
fn what_runs_on_beside_a_stage_is_told_with_each_attempt() {
    let story: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0").with(BLUE_GREEN)),
        |it| it.report("a", "hello", "installed+unhealthy"),
        |it| it.report("b", "hello", "installing+unhealthy"),
        |it| it.report("b", "hello", "failed:engine-error+unhealthy"),
        |it| it.pass(8),
        |it| it.report("b", "hello", "installing+unhealthy"),
        |it| it.silence("b"),
        |it| it.wake("b"),
        |it| it.report("b", "hello", "installing+unhealthy"),
        |it| it.deploy(&app("3.0.0").with(BLUE_GREEN)),
        |it| it.report("a", "hello", "installed+unhealthy"),
        Plant::converge,
        |it| it.pass(61),
        |it| it.report("a", "hello", "installed+unhealthy"),
        Plant::converge,
    ];
    check(story);
}

#[test]
fn pause_ends_with_a_release_and_with_the_file() {
    let stop: Step = |it| it.deploy(&app("2.0.0").with(STOPPING));
    let failing: Step = |it| it.report("a", "hello", "failed:exited");
    let release: Step =
        |it| command(it, Action::ReleaseQuarantine { deployment: deployment_id("hello") });
    check(&[three_nodes, stop, |it| command(it, pause()), failing, release]);
    let gone: Step = |it| it.undeploy("hello");
    let away: Step = |it| it.silence("c");
    let update: Step = |it| it.deploy(&app("2.0.0").with(CANARY));
    check(&[three_nodes, away, update, |it| command(it, pause()), gone, update]);
}

#[test]
fn stop_that_is_over_and_verdicts_of_a_node_that_is_gone_are_told() {
    let stop: Step = |it| it.deploy(&app("2.0.0").with(STOPPING));
    let failing: Step = |it| it.report("a", "hello", "failed:exited");
    let well: Step = |it| it.report("a", "hello", "installed");
    check(&[three_nodes, stop, failing, well, Plant::converge]);
    let alone: Step = |it| it.deploy(&app("2.0.0").with("onFailure: rollback-node"));
    let retire: Step = |it| command(it, Action::Retire { node: "a".parse().expect("a name") });
    check(&[three_nodes, alone, failing, Plant::converge, retire, Plant::converge]);
}

#[test]
fn other_steps_for_the_same_revision_are_told() {
    for settings in ["strategy: {type: canary, canary: 2, soak: 1m}", "", BLUE_GREEN] {
        let mut central = Central::new();
        let mut plant = Plant::new();
        three_nodes(&mut plant);
        for settings in [CANARY, settings] {
            plant.deploy(&app("2.0.0").with(settings));
            central.sync(&plant);
        }
        let own = plant.site.deployment(&deployment_id("hello")).expect("it is there");
        let told = &central.view().deployments[&own.id].rollout;
        assert_eq!(*told, own.rollout_view(plant.now), "{settings}");
    }
}

#[test]
fn paused_rollout_may_lose_its_steps() {
    let first_install: Step = |it| it.join("a");
    for start in [three_nodes, first_install] {
        let (mut central, mut plant) = (Central::new(), Plant::new());
        start(&mut plant);
        plant.deploy(&app("2.0.0").with(BLUE_GREEN));
        command(&mut plant, pause());
        plant.deploy(&app("2.0.0"));
        central.sync(&plant);
        let own = plant.site.deployment(&deployment_id("hello")).expect("it is there");
        let view = own.rollout_view(plant.now).expect("it is paused");
        assert_eq!((view.step, view.of), (1, 1));
        assert_eq!(central.view().deployments[&own.id].rollout, Some(view));
    }
}

/// A step is reported with its size; a node that joins later changes no event.
#[test]
fn node_that_joins_during_a_step_changes_no_report() {
    let half = "strategy: {type: canary, canary: 50%, soak: 1m, promote: manual}";
    let (mut central, mut plant) = (Central::new(), Plant::new());
    ["a", "b"].iter().for_each(|it| plant.join(it));
    plant.deploy(&app("1.0.0"));
    plant.converge();
    plant.deploy(&app("2.0.0").with(half));
    central.sync(&plant);
    ["c", "d", "e"].iter().for_each(|it| plant.join(it));
    central.sync(&plant);
}

/// The site knows a better cause of a failure that it has reported.
#[test]
fn report_after_a_failure_changes_no_report() {
    let first: Step = |it| it.deploy(&app("1.0.0"));
    let lost: Step = |it| {
        it.silence("a");
        it.pass(1_200);
    };
    let late: Step = |it| it.report("a", "hello", "failed:exited");
    check(&[|it| it.join("a"), first, lost, late]);
}

/// The way back of a revision that was good before is lost with it.
#[test]
fn good_revision_that_is_condemned_is_good_no_more() {
    let bad: Step = |it| it.report("a", "hello", "failed:exited");
    let next: Step = |it| it.deploy(&app("2.0.0"));
    let first: Step = |it| it.deploy(&app("1.0.0").with("soak: 1h"));
    let one: Step = |it| it.join("a");
    check(&[one, first, Plant::converge, bad, |it| it.pass(60), bad, |it| it.pass(60), bad]);
    check(&[one, first, Plant::converge, next, bad, Plant::converge, bad, Plant::converge]);
}

#[test]
fn pause_of_a_rollout_without_steps_is_told() {
    let story: &[Step] = &[
        three_nodes,
        |it| it.deploy(&app("2.0.0")),
        |it| command(it, pause()),
        |it| command(it, Action::Resume { deployment: deployment_id("hello") }),
        Plant::converge,
    ];
    check(story);
}

#[test]
fn removal_that_is_taken_back_is_held_no_more() {
    let story: &[Step] = &[
        |it| it.join("a"),
        |it| ["w", "x", "y", "z"].iter().for_each(|name| it.deploy(&App::new(name, "1.0.0"))),
        Plant::converge,
        |it| it.commit(["w", "x", "y"].iter().map(|name| removed_file(name)).collect()),
        |it| it.deploy(&App::new("x", "1.0.0")),
    ];
    check(story);
}

#[test]
fn only_so_many_quarantined_revisions_are_told() {
    let bad: Step = |it| {
        for version in 2..36 {
            it.deploy(&app(&format!("{version}.0.0")));
            it.report("a", "hello", "failed:exited");
            it.converge();
            it.pass(1);
        }
    };
    check(&[three_nodes, bad]);
}

#[test]
fn stops_and_retries_are_told() {
    STORIES.iter().for_each(|(_, story)| check(story));
}

#[test]
fn next_orchestrator_goes_on_at_the_step_and_stays_paused() {
    let (mut central, mut old) = (Central::new(), Plant::new());
    three_nodes(&mut old);
    old.deploy(&app("2.0.0").with(CANARY));
    old.converge();
    old.pass(61);
    command(&mut old, Action::Promote { deployment: deployment_id("hello") });
    command(&mut old, pause());
    let order = Command { number: Some(7), by: "ana".to_owned(), expires: None, action: retry() };
    let _ = old.step(Input::Command(order));
    central.sync(&old);

    let seeded = central.fleet.seed(&home(), |it| text(&old, it)).expect("home exists");
    let rollout = &seeded.seed.deployments[0].rollout;
    let own = old.site.deployment(&deployment_id("hello")).expect("it is there").rollout();
    assert_eq!((rollout.step, &rollout.paused), (1, &own.paused));
    assert_eq!(seeded.seed.commands_done, 7);
}

#[test]
fn what_was_removed_is_counted() {
    let (mut central, mut plant) = (Central::new(), Plant::new());
    story("delete")[..4].iter().for_each(|step| step(&mut plant));
    plant.converge();
    central.sync(&plant);
    assert_eq!(
        (central.count(PlacementBucket::Deleting), central.count(PlacementBucket::Deferred)),
        (0, 1)
    );
    assert_eq!(central.archived(), (1, 0));
}

#[test]
fn what_nobody_confirmed_is_counted_apart() {
    let (mut central, mut plant) = (Central::new(), Plant::new());
    three_nodes(&mut plant);
    ["b", "c"].iter().for_each(|it| plant.silence(it));
    plant.pass(20);
    plant.undeploy("hello");
    plant.converge();
    let node = Some("b".parse().expect("a name"));
    command(&mut plant, Action::Force { deployment: deployment_id("hello"), node });
    central.sync(&plant);
    assert_eq!(central.count(PlacementBucket::Deferred), 1);
    assert_eq!(central.archived(), (2, 1));
}

#[test]
fn reload_takes_back_what_was_not_stored() {
    let other: SiteName = "other".parse().expect("a name");
    let mut fleet = Central::new().fleet;
    fleet.site_add(&other);
    fleet.change_planned(&other, &name("hello"), Timestamp(0)).expect("it exists");
    let stored = fleet.clone();
    let keys = [home(), other.clone()].map(colony_core::fleet::RowKey::Site);
    let rows: Vec<_> = keys.iter().filter_map(|it| stored.row(it)).collect();
    let _ = fleet.take_changed();

    fleet.join(&home(), Timestamp(0), true).expect("it may join");
    fleet.change_planned(&home(), &name("lost"), Timestamp(0)).expect("home exists");
    fleet.reload(&home(), rows);

    let same = |site: &SiteName| assert_eq!(fleet.site(site), stored.site(site), "{site}");
    same(&home());
    same(&other);
    assert!(fleet.deployment_names().eq([&name("hello")]), "{fleet:?}");
    let mut fleet: Fleet = fleet;
    assert!(fleet.take_changed().is_empty(), "what was to be written is not to be written");
    fleet.site_add(&"third".parse().expect("a name"));
    assert!(!fleet.take_changed().is_empty());
}

pub(crate) fn three_nodes(plant: &mut Plant) {
    ["a", "b", "c"].iter().for_each(|it| plant.join(it));
    plant.deploy(&app("1.0.0"));
    plant.converge();
}

pub(crate) fn pause() -> Action {
    Action::Pause { deployment: deployment_id("hello"), note: "a look first".to_owned() }
}

fn retry() -> Action {
    Action::Retry { deployment: deployment_id("hello"), node: None }
}

pub(crate) fn command(plant: &mut Plant, action: Action) {
    plant.command(action).expect("it is allowed");
}

/// Tells a story to the central orchestrator, step by step.
#[track_caller]
pub(crate) fn check(story: &[Step]) {
    let (mut central, mut plant) = (Central::new(), Plant::new());
    for (number, step) in story.iter().enumerate() {
        step(&mut plant);
        central.sync(&plant);
        for it in plant.site.deployments() {
            let told = &central.view().deployments[&it.id];
            assert_eq!(told.rollout, it.rollout_view(plant.now), "after step {number}");
            assert_eq!(told.stopped.is_some(), it.is_stopped(), "after step {number}");
            for node in it.nodes() {
                let (told, rejected) = (told.rejected.get(node), it.rejected().get(node));
                assert_eq!(told, rejected, "after step {number}");
            }
        }
        for it in plant.site.placements() {
            let told = &central.view().placements[&it.id.deployment][&it.id.node];
            let failed = it.state().to_string().starts_with("FAILED");
            let at = told.retry.and_then(|it| it.at);
            assert!(failed || at.is_none(), "after step {number}: {told:?}");
        }
    }
}
