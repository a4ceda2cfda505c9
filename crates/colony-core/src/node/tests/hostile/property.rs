//! Whatever happens, a node does not panic and its rows read back.

use proptest::prelude::*;

use crate::node::tests::kit::script;
use crate::node::tests::kit::world::World;
use crate::node::{Key, Node, Policy, Row};

const COMMANDS: &[&str] = &[
    "deploy a web@1",
    "deploy a web@2",
    "deploy a db@1 web@1",
    "deploy a db@1/nowait web@2/0m2s",
    "deploy a broken",
    "deploy a web@1 hall=south",
    "deploy a web@2 phase=stage",
    "deploy a db@1 web@2 phase=stage attempt=2",
    "deploy a web@1 phase=stage",
    "web@2+ becomes exited",
    "web@2+ becomes unhealthy",
    "web@2+ becomes gone",
    "deploy b web@1",
    "deploy b web@1 attempt=2",
    "undeploy a",
    "undeploy b",
    "incarnation 1000",
    "wall 3",
    "reboot",
    "blackout",
    "stranger x",
    "web@1 is fine",
    "web@1 is exiting",
    "web@2 is unhealthy",
    "web@2 is slow",
    "db@1 is missing",
    "web@1 becomes exited",
    "web@1 becomes gone",
    "web@2 becomes healthy",
    "db@1 becomes unhealthy",
    "registry off",
    "registry on",
    "engine off",
    "engine on",
    "removal off",
    "removal on",
    "manager off",
    "manager on",
    "actions off",
    "actions on",
    "run 1",
    "ask a",
    "ask x",
    "run 7",
    "run 70",
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn rows_read_back_and_all_ends_well(
        commands in prop::collection::vec(0..COMMANDS.len(), 0..40),
        dies_at in prop::option::of(0_usize..400),
    ) {
        let mut world = World::new();
        world.dies_at = dies_at;
        let mut incarnation = 1_000;
        for command in commands {
            match COMMANDS[command] {
                "incarnation 1000" => {
                    incarnation += 1;
                    script::run(&mut world, &format!("incarnation {incarnation}"));
                }
                command => script::run(&mut world, command),
            }
            prop_assert_eq!(rows(&world.node), rows(&restored(&world)));
        }
        for command in ["registry on", "engine on", "removal on", "manager on", "actions on",
            "undeploy b", "deploy a web@3", "run 130"] {
            script::run(&mut world, command);
        }
        prop_assert_eq!(world.heard.get("a").map(String::as_str), Some("a: installed"));
        prop_assert!(world.engine.values().map(|it| &it.title).eq(["web@3"]), "{:?}", world.engine);
    }
}

fn restored(world: &World) -> Node {
    let rows = world.disk.values().map(|it| serde_json::from_str::<Row>(it).expect("a row"));
    Node::restore(world.node.id().clone(), Policy::default(), rows)
}

/// All rows but the clock, which may lag on disk.
fn rows(node: &Node) -> Vec<Row> {
    let ids = node.deployments.keys().cloned().map(Key::Deployment);
    let rows = ids.chain([Key::Meta]).filter_map(|it| node.row(&it));
    rows.map(without_clock).collect()
}

fn without_clock(row: Row) -> Row {
    match row {
        Row::Meta(mut meta) => {
            meta.clock = Default::default();
            Row::Meta(meta)
        }
        Row::Deployment(record) => Row::Deployment(record),
    }
}
