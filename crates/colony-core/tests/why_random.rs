//! Whatever happens to a site, nothing that waits is left without an answer.

use std::collections::BTreeSet;

use colony_core::event::HoldScope;
use colony_core::id::{PlacementId, SiteName};
use colony_core::site::{Action, File, Input};
use colony_core::why::{self, Cause, Why};
use colony_testkit::{App, Plant, blob, deployment_id};

const SEEDS: u64 = 40;
const STEPS: usize = 150;
const NODES: &[&str] = &["a", "b", "c", "d"];
const APPS: &[&str] = &["hello", "world"];

#[test]
fn everything_that_waits_has_a_specific_answer() {
    let mut met: BTreeSet<&'static str> = BTreeSet::new();
    for seed in 0..SEEDS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut plant = Plant::new();
        for step in 0..STEPS {
            happen(&mut plant, &mut dice);
            let context = format!("seed {seed}, step {step}");
            met.extend(check(&plant, &context));
        }
    }
    let unmet: Vec<_> = Cause::all_names().filter(|it| !met.contains(it)).collect();
    assert!(met.len() >= 25, "only {} kinds were met, not {unmet:?}", met.len());
}

/// Asks about everything and returns the kinds of causes in the answers.
fn check(plant: &Plant, context: &str) -> BTreeSet<&'static str> {
    let (site, now) = (&plant.site, plant.now);
    let mut all: Vec<Why> = why::site(site, now);
    all.extend(site.site_nodes().filter_map(|it| why::node(site, &it.name)));
    for app in APPS {
        all.extend(why::deployment(site, &Plant::name(app), now));
    }
    for id in site.placements().map(|it| &it.id) {
        all.extend(check_placement(plant, id, context));
    }
    for why in &all {
        check_wire(why);
    }
    all.iter().flat_map(|it| it.also.iter().chain([&it.cause])).map(Cause::name).collect()
}

fn check_placement(plant: &Plant, id: &PlacementId, context: &str) -> Option<Why> {
    let state = plant.site.placement(id)?.state();
    let name = plant.site.deployment(&id.deployment)?.name.to_string();
    let why = why::placement(&plant.site, id, plant.now);
    let Some(why) = why else {
        assert!(state.is_final(), "{context}: no answer for {name} on {}: {state}", id.node);
        return None;
    };
    let text = why.text(plant.now.wall);
    assert!(text.contains(&format!("{name} on {}", id.node)), "{context}: {text}");
    assert!(!text.contains("nothing is in its way"), "{context}: left undone: {text}");
    assert!(why.since.is_some(), "{context}: since when? {text}");
    Some(why)
}

/// What the API sends reads back, under the published name.
fn check_wire(why: &Why) {
    let json = serde_json::to_value(why).expect("an answer is JSON");
    assert_eq!(json["cause"]["name"], why.cause.name());
    assert!(Cause::all_names().any(|it| it == why.cause.name()));
    let back: Why = serde_json::from_value(json).expect("an answer reads back");
    assert_eq!(&back, why);
}

/// One random thing happens to the plant.
fn happen(plant: &mut Plant, dice: &mut Dice) {
    let node = dice.pick(NODES);
    let app = dice.pick(APPS);
    match dice.roll(24) {
        0..=1 => join(plant, dice, node),
        2..=3 => plant.silence(node),
        4..=5 => wake(plant, node),
        6..=8 => deploy(plant, dice, app),
        9 => plant.undeploy(app),
        10..=15 => report(plant, dice),
        16..=19 => plant.pass(dice.pick(&[1, 4, 13, 20, 35, 120, 700])),
        20 => plant.crash(),
        21 => windows(plant, dice),
        _ => command(plant, dice, node, app),
    }
}

fn join(plant: &mut Plant, dice: &mut Dice, node: &str) {
    match dice.roll(4) {
        0 => plant.must(Input::Joined(node.parse().expect("a name"))),
        1 => plant.join_with(node, "arm64", r#""zone":"north""#),
        _ => plant.join_with(node, "amd64", r#""zone":"south""#),
    }
}

fn wake(plant: &mut Plant, node: &str) {
    if plant.site.site_node(&node.parse().expect("a name")).is_some() {
        plant.wake(node);
    }
}

fn deploy(plant: &mut Plant, dice: &mut Dice, app: &str) {
    let version = dice.pick(&["1.0.0", "2.0.0", "3.0.0"]);
    let settings = dice.pick(&[
        "",
        "onFailure: stop\nretry: {installs: 1}",
        "onFailure: rollback-node\nretry: {installs: 1}",
        "replicas: 3",
        "selector: {zone: north}",
        "retry: {installs: 1}",
        "strategy: {type: all-at-once}",
    ]);
    let arm = "capacityRequirements:\n  cpu: {cores: 1, architectures: [arm64]}";
    let constraints = dice.pick(&["", "", "", arm]);
    let target = dice.pick(&["*", "*", "*", "b"]);
    plant.deploy(&App::new(app, version).with(settings).needing(constraints).on(target));
}

fn report(plant: &mut Plant, dice: &mut Dice) {
    let busy = plant.site.placements().filter(|it| it.state().is_in_progress());
    let mut ids: Vec<PlacementId> = busy.map(|it| it.id.clone()).collect();
    if ids.is_empty() || dice.roll(3) == 0 {
        ids = plant.site.placements().map(|it| it.id.clone()).collect();
    }
    if ids.is_empty() {
        return;
    }
    let id = dice.pick(&ids);
    let name = plant.site.deployment(&id.deployment).map(|it| it.name.to_string());
    let state = dice.pick(&[
        "installed",
        "installed",
        "installed",
        "installing",
        "installing~5000",
        "removed",
        "failed:unhealthy",
        "failed:image-missing",
        "failed:disk-full",
        "failed:removal-failed",
    ]);
    plant.report(id.node.as_str(), &name.expect("a deployment"), state);
}

fn windows(plant: &mut Plant, dice: &mut Dice) {
    let home: SiteName = "home".parse().expect("a name");
    let text = dice.pick(&[
        "labels: {}\n",
        "labels: {}\n",
        "maintenanceWindows:\n  - {from: '22:00', to: '04:00'}\n",
        "maintenanceWindows: 7\n",
    ]);
    plant.commit(vec![File::read(&home, "sites/home.yaml", &blob(text), text.as_bytes())]);
}

fn command(plant: &mut Plant, dice: &mut Dice, node: &str, app: &str) {
    let (node, deployment) = (node.parse().expect("a name"), deployment_id(app));
    let scope = match dice.roll(2) {
        0 => HoldScope::Site,
        _ => HoldScope::Deployment(deployment.clone()),
    };
    let action = match dice.roll(10) {
        0 => Action::Hold { scope, note: "test".to_owned() },
        1..=2 => Action::ReleaseHold { scope },
        3 => Action::Retry { deployment, node: None },
        4 => Action::ReleaseQuarantine { deployment },
        5 => Action::Rollback { deployment },
        6 => Action::Force { deployment, node: None },
        7 => Action::Cordon { node },
        8 => Action::Uncordon { node },
        _ => Action::Retire { node },
    };
    // What makes no sense just there is refused, which is fine.
    let _ = plant.command(action);
}

/// A small generator, so that a failing seed can be played again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }
}
