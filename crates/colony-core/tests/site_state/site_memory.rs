//! What an orchestrator remembers after a crash, and what it believes of the one before it.

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::event::HoldScope;
use colony_core::site::{Action, Command, Hold, Input, Quarantine, Rollout, Seed};
use colony_core::time::{Monotonic, Timestamp};
use colony_testkit::{App, Plant, deployment_id, seed, status};

#[test]
fn a_name_means_the_same_after_a_crash() {
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.crash();
    assert!(plant.site.deployment_named(&Plant::name("hello")).is_some());
    plant.undeploy("hello");
    check(&plant, "hello@a DELETING 1.0.0");
}

#[test]
fn a_soak_that_another_clock_measured_starts_over() {
    let app = App::new("hello", "1.0.0").with("strategy: {type: canary, soak: 5m}");
    let mut known = seed(&app, "INSTALLED");
    let paused = Some(Hold { by: "ana".to_owned(), note: String::new(), since: Timestamp(7) });
    let (soaking, awaits) = (Some(Monotonic(5)), Some(Timestamp(6)));
    known.deployments[0].rollout = Rollout {
        step: 1,
        node_limit: None,
        soaking_since: soaking,
        awaits_promotion_since: awaits,
        paused: paused.clone(),
    };
    let plant = taken_over(known);
    let rollout = plant.site.deployment(&deployment_id("hello")).expect("it is known").rollout();
    assert_eq!(
        *rollout,
        Rollout {
            step: 1,
            node_limit: None,
            soaking_since: None,
            awaits_promotion_since: None,
            paused
        }
    );
}

#[test]
fn last_words_of_a_container_are_told_with_its_failure() {
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&hello());
    let said: Vec<String> = (1..=30).map(|it| format!("line {it}")).collect();
    let version = plant.version("a");
    let mut failed = status(&deployment_id("hello"), "failed:exited", version, 1);
    if let Some(colony) = failed.colony.as_mut() {
        colony.log = Some(said.clone());
    }
    let node = "a".parse().expect("a name");
    let _ = plant.step(Input::Status { node, status: Box::new(failed) });
    let kept = plant.site.placements().next().and_then(|it| it.failure.clone());
    assert_eq!(kept.map(|it| it.log), Some(said[10..].to_vec()));
}

#[test]
fn what_was_removed_is_not_taken_over() {
    check(&taken_over(seed(&hello(), "INSTALLED")), "hello@a INSTALLED 1.0.0");
    check(&taken_over(seed(&hello(), "DELETED")), "");
}

#[test]
fn what_was_on_a_node_that_is_gone_is_not_taken_over() {
    let known = Seed { nodes: vec![], ..seed(&hello(), "INSTALLED") };
    check(&taken_over(known), "");
}

#[test]
fn what_no_node_was_told_of_needs_no_word_to_go() {
    let mut known = seed(&hello(), "PENDING");
    known.placements[0].attempt = 0;
    let mut plant = taken_over(known);
    check(&plant, "hello@a PENDING 1.0.0");
    plant.commit(vec![]);
    check(&plant, "");
}

#[test]
fn what_a_node_was_told_of_before_goes_when_the_node_says_so() {
    let mut plant = taken_over(seed(&hello(), "PENDING"));
    plant.commit(vec![]);
    check(&plant, "hello@a DELETING 1.0.0");
    plant.report("a", "hello", "removed");
    check(&plant, "");
}

#[test]
fn a_node_that_runs_what_nobody_offered_it_has_not_installed_it() {
    let bad = App::new("hello", "2.0.0");
    let mut known = seed(&bad, "DELETING");
    let revision = known.deployments[0].accepted.clone();
    let failure = Failure::new(Code::Exited, "it went wrong");
    let since = Timestamp(7);
    known.deployments[0].quarantine =
        vec![Quarantine { revision, node: None, by: None, failure, since }];
    // Its text is lost: it can be wanted, but not offered to a node.
    known.deployments[0].last_converged =
        Some(seed(&hello(), "INSTALLED").deployments[0].accepted.clone());
    let mut plant = taken_over(known);
    plant.deploy(&bad);
    plant.join("a");
    check(&plant, "hello@a INSTALLING");
    plant.report("a", "hello", "installed");
    check(&plant, "hello@a INSTALLING");
}

#[test]
fn only_a_later_orchestrator_replaces_this_one() {
    let mut plant = taken_over(seed(&hello(), "INSTALLED"));
    plant.commit(vec![]);
    for (by, expected) in [(0, None), (1, None), (2, Some(2))] {
        plant.must(Input::Fenced { by });
        assert_eq!(plant.site.fenced_by(), expected);
    }
}

#[test]
fn who_is_replaced_before_it_has_read_git_serves_nothing() {
    let mut plant = taken_over(seed(&hello(), "INSTALLED"));
    plant.must(Input::Fenced { by: 2 });
    let error = plant.site.manifest(&"a".parse().expect("a name")).expect_err("Git is not read");
    assert_eq!(error.to_string(), "the site is not ready: Git is not read yet");
}

#[test]
fn orders_and_reports_wait_until_it_knows_what_should_run() {
    let mut plant = Plant::unseeded(1);
    let unknown = "the site is not ready: what runs here is not known yet";
    let unread = "the site is not ready: Git is not read yet";
    refuses(&mut plant, hold(), unknown);
    refuses(&mut plant, report(), unknown);
    plant.must(Input::Seed(Box::new(seed(&hello(), "UPDATING"))));
    refuses(&mut plant, hold(), unread);
    refuses(&mut plant, report(), unread);
    check(&plant, "hello@a UNKNOWN(update) 1.0.0");
}

fn hello() -> App {
    App::new("hello", "1.0.0")
}

/// The second orchestrator of a site that was like this. Git is not read yet.
fn taken_over(known: Seed) -> Plant {
    let mut plant = Plant::unseeded(1);
    plant.must(Input::Seed(Box::new(known)));
    plant
}

fn hold() -> Input {
    let action = Action::Hold { scope: HoldScope::Site, note: String::new() };
    Input::Command(Command { number: None, by: "ana".to_owned(), expires: None, action })
}

fn report() -> Input {
    let status = status(&deployment_id("hello"), "installed", u64::from(u32::MAX), 1);
    Input::Status { node: "a".parse().expect("a name"), status: Box::new(status) }
}

#[track_caller]
fn refuses(plant: &mut Plant, input: Input, expected: &str) {
    let refused = plant.step(input).refused.map(|it| it.to_string());
    assert_eq!(refused.as_deref(), Some(expected));
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
