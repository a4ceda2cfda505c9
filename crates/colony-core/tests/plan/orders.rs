//! Both orchestrators refuse the same orders in the same words.

use colony_core::event::HoldScope;
use colony_core::fleet::ReportedSite;
use colony_core::order_rules::check;
use colony_core::site::Action;
use colony_testkit::{commit_id, deployment_id};

use crate::kit::{World, app, home};

const CANARY: &str = "strategy: {type: canary, canary: 1, soak: 5m, promote: manual}";

type Situation = (&'static str, fn() -> World);

const SITUATIONS: &[Situation] = &[
    ("nothing", || World::new("a b")),
    ("installed", || World::installed("a b", "")),
    ("updating", || updating("")),
    ("canary begins", || updating(CANARY)),
    ("canary soaks", soaking),
    ("canary in its last step", || {
        let mut world = soaking();
        order(&mut world, promote());
        world
    }),
    ("paused", || {
        let mut world = updating("");
        order(&mut world, pause());
        world
    }),
    ("rolled back", || {
        let mut world = updating("");
        world.plant.report("a", "hello", "failed:exited");
        world.converge();
        world
    }),
    ("stopped", || {
        let mut world = updating("onFailure: stop");
        world.plant.report("a", "hello", "failed:exited");
        world.sync();
        world
    }),
    ("given up by a node", || {
        let mut world = updating("onFailure: rollback-node");
        world.plant.report("a", "hello", "failed:exited");
        world.converge();
        world
    }),
    ("on hold", || {
        let mut world = World::installed("a b", "");
        for scope in [HoldScope::Site, HoldScope::Deployment(deployment_id("hello"))] {
            order(&mut world, Action::Hold { scope, note: String::new() });
        }
        world
    }),
    ("on hold and gone", || {
        let mut world = World::installed("a b", "");
        world.plant.undeploy("hello");
        let scope = HoldScope::Deployment(deployment_id("hello"));
        order(&mut world, Action::Hold { scope, note: String::new() });
        world.converge();
        world
    }),
    ("being removed", || {
        let mut world = updating("");
        world.plant.undeploy("hello");
        world.sync();
        world
    }),
];

#[test]
fn refusals_are_the_same_at_both_orchestrators() {
    for (situation, world) in SITUATIONS {
        let world = world();
        let view = world.fleet.site(&home()).expect("home exists");
        for action in actions() {
            let own = check(&action, &world.plant.site).map_err(|it| it.to_string());
            let central = check(&action, &ReportedSite { name: &home(), view });
            let central = central.map_err(|it| it.to_string());
            // The site counts the nodes of a step, the central orchestrator does not.
            let own = own.map_err(|it| match it.split_once(" is not done: ") {
                Some((before, _)) => format!("{before} is not done yet"),
                None => it,
            });
            assert_eq!(own, central, "{situation}: {action:?}");
        }
    }
}

#[test]
fn site_executes_what_the_rule_allows() {
    for (situation, world) in SITUATIONS {
        for action in actions() {
            let mut world = world();
            let expected = check(&action, &world.plant.site).map_err(|it| it.to_string());
            let done = world.plant.command(action.clone());
            // A retry has to pass the guards of its placement, too.
            let guarded = matches!(action, Action::Retry { .. }) && expected.is_ok();
            assert!(guarded || done == expected, "{situation}: {action:?} {done:?} {expected:?}");
        }
    }
}

#[test]
fn nothing_goes_back_to_a_version_that_is_quarantined() {
    let mut world = World::installed("a b", "");
    world.deploy(&app("2.0.0", ""));
    world.converge();
    let rollback = Action::Rollback { deployment: deployment_id("hello") };
    world.plant.command(rollback.clone()).expect("back to 1.0.0");
    world.converge();
    world.deploy(&app("1.0.0", ""));
    world.converge();
    assert_eq!(world.plant.states(), "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
    let said =
        "home keeps no earlier revision of hello to roll back to; choose a version with `--to`";
    let refused = world.plant.command(rollback.clone()).expect_err("2.0.0 is refused here");
    assert_eq!(refused, said);
    let view = world.fleet.site(&home()).expect("a site");
    let reported = ReportedSite { name: &home(), view };
    assert_eq!(check(&rollback, &reported).expect_err("refused").to_string(), said);
}

#[test]
fn hold_of_a_deployment_that_is_gone_is_released() {
    let (_, world) = SITUATIONS.iter().find(|it| it.0 == "on hold and gone").expect("listed");
    let mut world = world();
    assert_eq!(world.plant.states(), "");
    let scope = HoldScope::Deployment(deployment_id("hello"));
    assert_eq!(world.plant.command(Action::ReleaseHold { scope }), Ok(()));
    assert!(world.plant.site.holds().is_empty());
}

#[test]
fn orders_that_are_on_their_way_count() {
    let mut world = updating("");
    let refused = |world: &World, action: Action| {
        let view = world.fleet.site(&home()).expect("home exists");
        let refusal = check(&action, &ReportedSite { name: &home(), view }).err();
        refusal.map(|it| it.to_string()).unwrap_or_default()
    };
    let send = |world: &mut World, action: Action| {
        let expires = world.plant.now.wall.after(std::time::Duration::from_secs(60));
        world.fleet.command(&home(), action, "ben", expires).expect("home exists");
    };
    send(&mut world, pause());
    assert_eq!(refused(&world, pause()), "ben already paused the rollout of hello at home");
    send(&mut world, Action::Resume { deployment: deployment_id("hello") });
    assert_eq!(refused(&world, pause()), "");
    let scope = HoldScope::Site;
    send(&mut world, Action::Hold { scope: scope.clone(), note: String::new() });
    assert_eq!(refused(&world, Action::ReleaseHold { scope }), "");
}

fn updating(settings: &str) -> World {
    let mut world = World::installed("a b", "");
    world.deploy(&app("2.0.0", settings));
    world
}

fn soaking() -> World {
    let mut world = updating(CANARY);
    world.plant.report("a", "hello", "installed");
    world.plant.pass(1);
    world.sync();
    world
}

#[track_caller]
fn order(world: &mut World, action: Action) {
    world.plant.command(action).expect("executed");
    world.sync();
}

fn promote() -> Action {
    Action::Promote { deployment: deployment_id("hello") }
}

fn pause() -> Action {
    Action::Pause { deployment: deployment_id("hello"), note: String::new() }
}

fn actions() -> Vec<Action> {
    let deployment = || deployment_id("hello");
    let node = |name: &str| name.parse().expect("a name");
    let own = HoldScope::Deployment(deployment());
    vec![
        Action::Hold { scope: own.clone(), note: String::new() },
        Action::ReleaseHold { scope: own },
        Action::ReleaseHold { scope: HoldScope::Site },
        Action::ReleaseRemoval,
        Action::AcceptHistory { commit: commit_id(7) },
        Action::ReleaseQuarantine { deployment: deployment() },
        Action::Retry { deployment: deployment(), node: None },
        Action::Retry { deployment: deployment(), node: Some(node("b")) },
        Action::Rollback { deployment: deployment() },
        promote(),
        pause(),
        Action::Resume { deployment: deployment() },
        Action::Abort { deployment: deployment(), note: String::new() },
        Action::Force { deployment: deployment(), node: None },
        Action::Cordon { node: node("a") },
        Action::Retire { node: node("z") },
    ]
}
