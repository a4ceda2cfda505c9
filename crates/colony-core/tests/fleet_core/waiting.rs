//! What a deployment waits for, cause by cause.

use colony_core::event::HoldScope;
use colony_core::site::{Action, Commit, File, Input};
use colony_core::time::Wall;
use colony_testkit::{Plant, blob, commit_id};

use crate::kit::{Central, home, name};
use crate::status::{commit, file};
use crate::story::{STORIES, Step, app, failed, story, told, two_nodes};
use crate::told::{BLUE_GREEN, CANARY, command, pause, three_nodes};

const QUEUED: &str = "node b still runs the revision before";
const LAST: &str = "node c still runs the revision before";

#[test]
fn what_is_under_way_is_told_with_its_state() {
    let one = |it: &mut Plant| it.join("a");
    let first = |it: &mut Plant| it.deploy(&app("1.0.0"));
    let next = |it: &mut Plant| it.deploy(&app("2.0.0"));
    check(&[one, first], &["node a is INSTALLING in attempt 1"]);
    check(&[one, first, Plant::converge, next], &["node a is UPDATING in attempt 2"]);
    let refused = format!(
        "the site refuses {}: exited on node a; it runs {} instead",
        short("2.0.0"),
        short("1.0.0")
    );
    check(
        &[one, first, Plant::converge, next, failed],
        &[&refused, "node a is ROLLINGBACK in attempt 3"],
    );
}

#[test]
fn who_never_left_the_good_revision_waits_for_nothing_while_others_go_back() {
    let next = |it: &mut Plant| it.deploy(&app("2.0.0"));
    let (bad, good) = (short("2.0.0"), short("1.0.0"));
    let refused = format!("the site refuses {bad}: exited on node a; it runs {good} instead");
    check(&[two_nodes, next, failed], &[&refused, "node a is ROLLINGBACK in attempt 3"]);
}

#[test]
fn rollout_in_steps_waits_for_a_soak_or_for_somebody() {
    let update: Step = |it| it.deploy(&app("2.0.0").with(CANARY));
    let updating = "node a is UPDATING in attempt 2";
    check(&[three_nodes, update], &[updating, QUEUED, LAST]);
    let paused = "step 1 of 3 of the rollout is paused by ana";
    check(&[three_nodes, update, |it| command(it, pause())], &[paused, updating, QUEUED, LAST]);
    let soaks = "step 1 of 3 of the rollout is done and soaks";
    check(&[three_nodes, update, Plant::converge], &[soaks, QUEUED, LAST]);
    let waits = "step 1 of 3 of the rollout is done and waits to be promoted";
    check(&[three_nodes, update, Plant::converge, |it| it.pass(61)], &[waits, QUEUED, LAST]);
}

#[test]
fn what_runs_on_beside_a_stage_and_is_not_well_is_told() {
    let update: Step = |it| it.deploy(&app("2.0.0").with(BLUE_GREEN));
    let lost: Step = |it| it.report("a", "hello", "installing+unhealthy");
    let lost_text = format!(
        "{}, which node a runs meanwhile, is not well: the health check does not pass",
        short("1.0.0")
    );
    let [a, b, c] = ["a", "b", "c"].map(|it| format!("node {it} is UPDATING in attempt 2"));
    check(&[three_nodes, update, lost], &[&a, &lost_text, &b, &c]);
    let well: Step = |it| it.report("a", "hello", "installing");
    check(&[three_nodes, update, lost, well], &[&a, &b, &c]);
    let away: Step = |it| {
        it.silence("a");
        it.pass(30);
    };
    let left = "node a is away; it is left UNKNOWN(update) there";
    check(&[three_nodes, update, lost, away], &[left, &b, &c]);
}

#[test]
fn hold_is_no_reason_of_what_is_at_its_end() {
    let mut plant = told(STORIES[0].1);
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    plant.command(hold).expect("held");
    assert_eq!(causes(&plant, "hello"), [""; 0]);
}

#[test]
fn removal_that_is_held_is_told_of_whom_it_concerns() {
    let plant = told(&story("large removal")[..4]);
    let held = "commit 0000000 removes 3 deployments of the site at once and is held";
    assert_eq!(causes(&plant, "w"), [held]);
    assert_eq!(causes(&plant, "z"), [""; 0]);
}

#[test]
fn history_that_is_held_keeps_a_commit_from_the_site() {
    let (mut central, mut plant) = (Central::new(), Plant::new());
    central.sync(&plant);
    commit(&mut central, Some(file("1.0.0")));
    let rewrite = Commit { revision: commit_id(50), base: None, rewritten: true, files: vec![] };
    let _ = plant.step(Input::Commit(rewrite));
    central.sync(&plant);
    let causes = causes_in(&central, plant.now.wall, "hello");
    let held = "Git's history was rewritten at 0000000 and is held";
    assert_eq!(causes.iter().map(String::as_str).skip(1).collect::<Vec<_>>(), [held]);
}

#[test]
fn first_install_that_was_given_up_is_refused_and_no_more() {
    let refused = format!(
        "the site refuses {}: exited on node a; nothing ran before, so nothing runs",
        short("1.0.0")
    );
    check(&story("failed first install")[..8], &[&refused]);
}

#[test]
fn file_with_several_faults_says_how_many() {
    let ends = |text: &str, expected: &str| {
        let mut plant = Plant::new();
        let path = "deployments/home/hello.yaml";
        plant.commit(vec![File::read(&home(), path, &blob(text), text.as_bytes())]);
        let causes = causes(&plant, "hello");
        assert!(causes.len() == 1 && causes[0].ends_with(expected), "{causes:?}");
    };
    ends("id: [", "unclosed bracket '['");
    ends("id: 5\n", " (and 2 more)");
}

/// Tells a story and compares what `hello` waits for at its end.
#[track_caller]
fn check(steps: &[Step], expected: &[&str]) {
    assert_eq!(causes(&told(steps), "hello"), expected);
}

fn causes(plant: &Plant, deployment: &str) -> Vec<String> {
    let mut central = Central::new();
    central.sync(plant);
    causes_in(&central, plant.now.wall, deployment)
}

fn causes_in(central: &Central, now: Wall, deployment: &str) -> Vec<String> {
    let why = central.fleet.why(&home(), &name(deployment), now).expect("home exists");
    why.iter().map(|it| it.cause.to_string()).collect()
}

fn short(version: &str) -> String {
    blob(&app(version).text(&home())).as_str()[..7].to_owned()
}
