//! Small values at their limits: names, ids, actors, and what a site answers about itself.

use std::time::Duration;

use colony_core::event::Actor;
use colony_core::id::{BlobId, NodeName};
use colony_core::site::{Content, File};
use colony_core::time::Timestamp;
use colony_testkit::{App, Plant, blob, deployment_id};

#[test]
fn names_have_an_end() {
    is_name(&"a".repeat(63), true);
    is_name(&"a".repeat(64), false);
    is_name(&"a".repeat(65), false);
}

#[test]
fn dashes_are_inside_of_names() {
    is_name("a-b", true);
    is_name("a-", false);
    is_name("ab-", false);
    is_name("-a", false);
}

#[test]
fn blobs_are_hex_digits_of_one_of_two_lengths() {
    for (text, expected) in [
        ("0f".repeat(20), true),
        ("0f".repeat(32), true),
        ("0f".repeat(21), false),
        ("0g".repeat(20), false),
        ("0G".repeat(32), false),
    ] {
        assert_eq!(text.parse::<BlobId>().is_ok(), expected, "{text}");
    }
}

#[test]
fn only_people_and_tokens_are_operators() {
    for (text, expected) in [("operator:ana", true), ("local", false), ("node:a", false)] {
        assert_eq!(Actor::from(text.to_owned()).is_operator(), expected, "{text}");
    }
}

#[test]
fn a_site_says_how_many_may_be_down_and_how_many_may_have_it() {
    for (strategy, limit, room) in [
        ("{type: all-at-once}", None, None),
        ("{type: rolling, maxUnavailable: 3}", Some(3), None),
        ("{type: canary, canary: 2, maxUnavailable: 4}", Some(4), Some(2)),
        ("{type: blue-green}", None, None),
    ] {
        let mut plant = Plant::new();
        ["a", "b", "c", "d", "e"].iter().for_each(|it| plant.join(it));
        plant.deploy(&App::new("hello", "1.0.0").with(&format!("strategy: {strategy}")));
        let (site, id) = (&plant.site, deployment_id("hello"));
        assert_eq!((site.rollout_limit(&id), site.rollout_room(&id)), (limit, room), "{strategy}");
    }
}

#[test]
fn a_site_knows_when_its_last_step_was() {
    let mut plant = Plant::new();
    plant.pass(7);
    assert_eq!(plant.site.clock(), plant.now.mono);
}

#[test]
fn times_before_are_counted_back_to_the_beginning() {
    assert_eq!(Timestamp(5_000).before(Duration::from_secs(2)), Timestamp(3_000));
    assert_eq!(Timestamp(5_000).before(Duration::from_secs(9)), Timestamp(0));
}

#[test]
fn a_canary_has_so_many_steps() {
    for (steps, expected) in [(19, true), (20, true), (21, false)] {
        let list = vec!["2"; steps].join(", ");
        let settings = format!("strategy: {{type: canary, steps: [{list}]}}");
        let text = App::new("hello", "1.0.0").with(&settings).text(Plant::new().site.name());
        let path = "deployments/home/hello.yaml";
        let file = File::read(Plant::new().site.name(), path, &blob(&text), text.as_bytes());
        assert_eq!(matches!(file.content, Content::Deployment(_)), expected, "{steps} steps");
    }
}

#[track_caller]
fn is_name(text: &str, expected: bool) {
    assert_eq!(text.parse::<NodeName>().is_ok(), expected, "{text}");
}
