//! Situations in which something is stuck, and what is said about each.

mod central;
mod failing;
mod fitting;
mod git_and_site;
mod nodes;
mod since;
mod under_way;
mod waiting;
mod well;

use colony_core::event::HoldScope;
use colony_core::id::{NodeName, SiteName};
use colony_core::site::{Action, Commit, File, Input};
use colony_core::why::{self, AnswerKey, Why};
use colony_testkit::{App, Plant, blob, capabilities, deployment_id};
use insta::assert_snapshot;

fn hello(version: &str) -> App {
    App::new("hello", version)
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    for node in nodes.split_whitespace() {
        plant.join(node);
    }
    plant
}

/// A plant on whose nodes hello 1.0.0 runs.
fn installed(nodes: &str) -> Plant {
    let mut plant = plant(nodes);
    plant.deploy(&hello("1.0.0"));
    plant.converge();
    plant
}

/// The first install of hello on node a has just failed with `code`.
fn failing(code: &str, settings: &str) -> Plant {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0").with(settings));
    plant.report("a", "hello", &format!("failed:{code}"));
    plant
}

/// A new orchestrator, seeded with hello 1.0.0 on node a in `state`.
fn taken_over(state: &str) -> Plant {
    Plant::taken_over(&hello("1.0.0"), state)
}

fn hold(plant: &mut Plant, scope: HoldScope, note: &str) {
    plant.command(Action::Hold { scope, note: note.to_owned() }).expect("held");
}

fn commit_text(plant: &mut Plant, path: &str, text: &str) {
    let home: SiteName = "home".parse().expect("a name");
    plant.commit(vec![File::read(&home, path, &blob(text), text.as_bytes())]);
}

fn name(node: &str) -> NodeName {
    node.parse().expect("a name")
}

/// Why hello on `node` is not as wanted.
#[track_caller]
fn on(plant: &Plant, node: &str) -> String {
    let id = plant.placement(node, "hello");
    let own = why::placement(&plant.site, &id, plant.now);
    central::check_placement(plant, "hello", own.as_ref());
    lines(plant, own)
}

#[track_caller]
fn hello_whole(plant: &Plant) -> String {
    whole(plant, "hello")
}

#[track_caller]
fn whole(plant: &Plant, deployment: &str) -> String {
    lines(plant, central::check_deployment(plant, deployment))
}

#[track_caller]
fn node(plant: &Plant, node: &str) -> String {
    let own = why::node(&plant.site, &name(node));
    central::check_answer(plant, AnswerKey::Node(name(node)), own.as_slice());
    lines(plant, own)
}

#[track_caller]
fn site(plant: &Plant) -> String {
    let own = why::site(&plant.site, plant.now);
    central::check_answer(plant, AnswerKey::Site, &own);
    lines(plant, own)
}

fn lines(plant: &Plant, all: impl IntoIterator<Item = Why>) -> String {
    let texts = all.into_iter().map(|it| it.text(plant.now.wall));
    texts.collect::<Vec<_>>().join("\n")
}
