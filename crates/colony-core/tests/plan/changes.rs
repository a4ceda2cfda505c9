//! Parameters, settings and packages that change, and the way back.

use colony_core::plan::{ValueChange, difference, plan_rollback};
use colony_testkit::blob;

use crate::kit::{World, app, hello, home, texts};

#[test]
fn settings_that_change_are_listed_by_site() {
    let world = World::installed("a b", "replicas: 2");
    let plan = world.plan(&app("1.0.0", "replicas: 1\nonFailure: stop").on("a"));
    assert_eq!(
        said(&plan.settings),
        r#"home node "home/*"→"home/a", home onFailure -→"stop", home replicas 2→1"#
    );
}

#[test]
fn parameters_that_change_are_listed_by_site() {
    let with = |value: &str| {
        let value = format!("{{value: {value}, targets: [{{pointer: G, components: [web]}}]}}");
        let text = app("1.0.0", "").text(&home());
        text.replace("parameters: {}", &format!("parameters: {{greeting: {value}}}"))
    };
    let mut world = World::installed("a", "");
    let plan = world.plan_text(Some(with("hi")));
    assert_eq!(said(&plan.parameters), r#"home greeting -→"hi""#);
    // Of a first deployment everything is new.
    world = World::new("a");
    assert_eq!(said(&world.plan_text(Some(with("hi"))).parameters), "");
}

#[test]
fn packages_are_pulled_where_they_are_new() {
    let world = World::installed("a b", "replicas: 1");
    let pulls = |version: &str, settings: &str| {
        let plan = world.plan(&app(version, settings));
        let text = |it: &colony_core::plan::PlanPull| {
            format!("{} on {}", it.package, it.targets.join(" "))
        };
        plan.pulls.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(pulls("1.0.0", "replicas: 1"), "");
    assert_eq!(pulls("1.0.0", "replicas: 2"), "oci://registry.test/hello:1.0.0 on home/b");
    assert_eq!(pulls("2.0.0", "replicas: 2"), "oci://registry.test/hello:2.0.0 on home/a home/b");
}

#[test]
fn way_back_names_nodes_and_versions() {
    let mut world = World::installed("a b", "");
    let first = plan_rollback(&hello(), &[home()], &world.snapshot());
    assert_eq!((first.targets.len(), first.orders.len()), (0, 0));
    let refusals: Vec<String> = first.refusals.iter().map(ToString::to_string).collect();
    assert_eq!(
        refusals,
        ["home keeps no earlier revision of hello to roll back to; choose a version with `--to`"]
    );

    world.deploy(&app("2.0.0", ""));
    world.plant.report("a", "hello", "installed");
    world.sync();
    let plan = plan_rollback(&hello(), &[home()], &world.snapshot());
    assert_eq!(texts(&plan.targets), "a update 2>1, b update 2>1");
    assert_eq!(plan.orders.len(), 1);
    let good = app("1.0.0", "").text(&home());
    let whole = plan.with_files(&[(blob(&good), good.clone())].into(), &world.snapshot());
    let deploy = world.plan_text(Some(good));
    assert_eq!((&whole.pulls, &whole.parameters), (&deploy.pulls, &deploy.parameters));
    assert_eq!(whole.pulls[0].targets, ["home/a", "home/b"]);
    // Another revision of the same version is called as a deploy calls it.
    let mut snapshot = world.snapshot();
    snapshot.versions.values_mut().for_each(|it| *it = "1.0.0".to_owned());
    let plan = plan_rollback(&hello(), &[home()], &snapshot);
    assert_eq!(texts(&plan.targets), "a restart 1>1, b restart 1>1");
}

#[test]
fn commit_is_told_by_what_differs_in_the_file() {
    let text = |version: &str, settings: &str| app(version, settings).text(&home());
    let greeting = |value: &str| {
        let value = format!("{{value: {value}, targets: [{{pointer: G, components: [web]}}]}}");
        let parameters = format!("parameters: {{greeting: {value}}}");
        text("1.0.0", "").replace("parameters: {}", &parameters)
    };
    let long = "x".repeat(60);
    for (before, after, expected) in [
        (text("1.0.0", ""), text("1.0.0", ""), ""),
        (text("1.0.0", ""), text("2.0.0", ""), "version 1.0.0 → 2.0.0"),
        (
            text("1.0.0", "replicas: 3"),
            text("2.0.0", "replicas: 1\nselector: {line: press}"),
            r#"version 1.0.0 → 2.0.0, replicas 3 → 1, selector unset → {"line":"press"}"#,
        ),
        (greeting("A"), greeting("B"), r#"parameter greeting "A" → "B""#),
        (greeting("A"), greeting(&long), &format!("parameter greeting \"A\" → \"{}…", &long[..39])),
        (text("1.0.0", ""), app("1.0.0", "").on("a").text(&home()), r#"node "home/*" → "home/a""#),
        (text("1.0.0", ""), "{".to_owned(), ""),
    ] {
        assert_eq!(difference(Some(&before), Some(&after)).join(", "), expected);
    }
    assert!(difference(None, Some(&text("1.0.0", ""))).is_empty());
}

fn said(changes: &[ValueChange]) -> String {
    let text =
        |it: &Option<colony_margo::Json>| it.as_ref().map_or("-".to_owned(), |it| it.to_string());
    let change =
        |it: &ValueChange| format!("{} {} {}→{}", it.site, it.name, text(&it.from), text(&it.to));
    changes.iter().map(change).collect::<Vec<_>>().join(", ")
}
