//! Every setting of `spec.x-colony-extensions`, right and wrong.

use colony_core::document::{
    CountOrPercent, Document, Gate, OnFailure, Settings, Strategy, Subset,
};
use colony_testkit::{App, blob};

#[test]
fn defaults_hold_where_nothing_is_said() {
    check("", "defaults");
}

#[test]
fn a_strategy_says_how_many_may_be_down() {
    check("strategy: {type: rolling}", "defaults");
    check("strategy: {type: rolling, maxUnavailable: 7}", "rolling 7");
    check("strategy: {type: rolling, maxUnavailable: 25%}", "rolling 25%");
    check("strategy: {type: all-at-once}", "all-at-once");
    check("strategy: {type: canary}", "canary 1 then [] after 60s Auto, 1 down");
    check(
        "strategy: {type: canary, canary: 20%, steps: [50%, 7], soak: 5m, promote: manual, maxUnavailable: 2}",
        "canary 20% then [50%, 7] after 300s Manual, 2 down",
    );
    check(
        "strategy: {type: canary, canary: {line: press}}",
        "canary {\"line\": \"press\"} then [] after 60s Auto, 1 down",
    );
    check("strategy: {type: blue-green}", "blue-green after 60s Auto, any down, drain 10s");
    check(
        "strategy: {type: blue-green, soak: 0s, promote: manual, maxUnavailable: 50%, drain: 10m}",
        "blue-green after 0s Manual, 50% down, drain 600s",
    );
}

#[test]
fn a_wrong_strategy_is_found() {
    check(
        "strategy: rolling",
        "17:15: spec.x-colony-extensions.strategy: `rolling` is a text; expected a mapping",
    );
    check(
        "strategy: {}",
        "17:15: spec.x-colony-extensions.strategy.type: is missing; expected `type`, which is required",
    );
    check(
        "strategy: {type: blue-green, canary: 1}",
        "17:42: spec.x-colony-extensions.strategy.canary: has no meaning for blue-green; expected no `canary`, or type `canary`",
    );
    check(
        "strategy: {type: canary, canary: {}}",
        "17:38: spec.x-colony-extensions.strategy.canary: is a mapping; expected at least one label",
    );
    check(
        "strategy: {type: canary, promote: later}",
        "17:39: spec.x-colony-extensions.strategy.promote: `later` is not known; expected `auto` or `manual`",
    );
    check(
        "strategy: {type: canary, steps: [0]}",
        "17:38: spec.x-colony-extensions.strategy.steps[0]: `0` is a number; expected a number of nodes from 1, or a percentage from `1%` to `100%`",
    );
    check(
        "strategy: {type: canary, drain: 5s}",
        "17:37: spec.x-colony-extensions.strategy.drain: has no meaning for canary; expected no `drain`, or type `blue-green`",
    );
    check(
        "strategy: {type: blue-green, drain: 601s}",
        "17:41: spec.x-colony-extensions.strategy.drain: `601s` is out of range; expected at most 10m",
    );
    check(
        "strategy: {type: roling}",
        "17:22: spec.x-colony-extensions.strategy.type: `roling` is not known (did you mean `rolling`?); expected `rolling`, `all-at-once`, `canary` or `blue-green`",
    );
    check(
        "strategy: {type: rolling, waves: 3}",
        "17:31: spec.x-colony-extensions.strategy.waves: key `waves` is not known; expected `type`, `maxUnavailable`, `canary`, `steps`, `soak`, `promote` or `drain`",
    );
    check(
        "strategy: {type: all-at-once, maxUnavailable: 2}",
        "17:51: spec.x-colony-extensions.strategy.maxUnavailable: has no meaning for all-at-once; expected no `maxUnavailable`, or type `rolling` or `canary` or `blue-green`",
    );
    check(
        "strategy: {type: rolling, maxUnavailable: 0}",
        "17:47: spec.x-colony-extensions.strategy.maxUnavailable: `0` is a number; expected a number of nodes from 1, or a percentage from `1%` to `100%`",
    );
    check(
        "strategy: {type: rolling, maxUnavailable: 101%}",
        "17:47: spec.x-colony-extensions.strategy.maxUnavailable: `101%` is a text; expected a number of nodes from 1, or a percentage from `1%` to `100%`",
    );
    check(
        "strategy: {type: rolling, maxUnavailable: 0%}",
        "17:47: spec.x-colony-extensions.strategy.maxUnavailable: `0%` is a text; expected a number of nodes from 1, or a percentage from `1%` to `100%`",
    );
    check(
        "strategy: {type: rolling, maxUnavailable: -1}",
        "17:47: spec.x-colony-extensions.strategy.maxUnavailable: `-1` is a negative number; expected a number of nodes from 1, or a percentage from `1%` to `100%`",
    );
    check(
        "strategy: {type: rolling, maxUnavailable: [1]}",
        "17:47: spec.x-colony-extensions.strategy.maxUnavailable: is a list; expected a text",
    );
}

#[test]
fn on_failure_is_one_of_three() {
    check("onFailure: stop", "stop");
    check("onFailure: rollback-node", "rollback-node");
    check("onFailure: rollback-site", "defaults");
    check(
        "onFailure: rollback",
        "17:16: spec.x-colony-extensions.onFailure: `rollback` is not known; expected `stop`, `rollback-node` or `rollback-site`",
    );
    check("onFailure:", "defaults");
}

#[test]
fn a_selector_is_labels_with_values() {
    check("selector: {}", "defaults");
    check("selector: {zone: north, line: 4}", "selector {\"line\": \"4\", \"zone\": \"north\"}");
    check(
        "selector: [north]",
        "17:15: spec.x-colony-extensions.selector: is a list; expected a mapping",
    );
    check(
        "selector: {zone: [north, south]}",
        "17:22: spec.x-colony-extensions.selector.zone: is a list; expected a text",
    );
    check(
        "selector:\n  zone: north\n  zone: south",
        "19:7: key `zone` is given twice, first in line 18; expected each key once",
    );
}

#[test]
fn replicas_are_counted_from_one() {
    check("replicas: 1", "replicas 1");
    check("replicas: 100000", "replicas 100000");
    check(
        "replicas: 0",
        "17:15: spec.x-colony-extensions.replicas: `0` is a number; expected a number from 1 to 100000",
    );
    check(
        "replicas: 100001",
        "17:15: spec.x-colony-extensions.replicas: `100001` is a number; expected a number from 1 to 100000",
    );
    check(
        "replicas: 2.5",
        "17:15: spec.x-colony-extensions.replicas: `2.5` is a number; expected an integer that is not negative",
    );
    check(
        "replicas: '3'",
        "17:15: spec.x-colony-extensions.replicas: `3` is a text; expected an integer that is not negative",
    );
    check(
        "replicas: all",
        "17:15: spec.x-colony-extensions.replicas: `all` is a text; expected an integer that is not negative",
    );
}

#[test]
fn tries_are_per_operation() {
    check("retry: {installs: 5}", "tries 5/1");
    check("retry: {updates: 2}", "tries 3/2");
    check("retry: {}", "defaults");
    check(
        "retry: {installs: 0, updates: 101}",
        "17:23: spec.x-colony-extensions.retry.installs: `0` is a number; expected a number from 1 to 100\n17:35: spec.x-colony-extensions.retry.updates: `101` is a number; expected a number from 1 to 100",
    );
    check(
        "retry: {rollbacks: 2}",
        "17:13: spec.x-colony-extensions.retry.rollbacks: key `rollbacks` is not known; expected `installs` or `updates`",
    );
    check("retry: 3", "17:12: spec.x-colony-extensions.retry: `3` is a number; expected a mapping");
}

#[test]
fn durations_have_units_and_an_end() {
    check("progressDeadline: 90s\nsoak: 0s", "deadline 90s, soak 0s");
    check("progressDeadline: 168h\nsoak: 1h30m", "deadline 604800s, soak 5400s");
    check(
        "progressDeadline: 169h",
        "17:23: spec.x-colony-extensions.progressDeadline: `169h` is out of range; expected at most 168h",
    );
    check(
        "progressDeadline: 90",
        "17:23: spec.x-colony-extensions.progressDeadline: `90` is a number; expected a duration such as `30s`, `5m` or `1h30m`",
    );
    check(
        "soak: soon",
        "17:11: spec.x-colony-extensions.soak: `soon` is a text; expected a duration such as `30s`, `5m` or `1h30m`",
    );
    check(
        "soak: -1s",
        "17:11: spec.x-colony-extensions.soak: `-1s` is a text; expected a duration such as `30s`, `5m` or `1h30m`",
    );
}

#[test]
fn a_channel_to_follow_is_a_text() {
    check("follow: stable", "follow stable");
    check("follow: 1.x", "follow 1.x");
    check("follow: ''", "17:13: spec.x-colony-extensions.follow: is empty; expected a text");
    check(
        "follow: {channel: stable}",
        "17:13: spec.x-colony-extensions.follow: is a mapping; expected a text",
    );
}

#[test]
fn unknown_settings_and_shapes_are_refused() {
    check(
        "replica: 3",
        "17:5: spec.x-colony-extensions.replica: key `replica` is not known (did you mean `replicas`?); expected KEYS",
    );
    check(
        "Replicas: 3\nsoak: 0s",
        "17:5: spec.x-colony-extensions.Replicas: key `Replicas` is not known (did you mean `replicas`?); expected KEYS",
    );
    check(
        "- replicas",
        "17:5: spec.x-colony-extensions: is a list; expected a mapping\n17:5: spec.x-colony-extensions: is a list; expected a mapping, as all extensions are",
    );
    check(
        "x-mine: 3",
        "17:5: spec.x-colony-extensions.x-mine: key `x-mine` is not known; expected KEYS",
    );
}

#[test]
fn all_mistakes_are_found_at_once() {
    check(
        "strategy: {type: now}\nonFailure: never\nreplicas: 0\nsoak: long",
        "17:22: spec.x-colony-extensions.strategy.type: `now` is not known; expected `rolling`, `all-at-once`, `canary` or `blue-green`\n18:16: spec.x-colony-extensions.onFailure: `never` is not known; expected `stop`, `rollback-node` or `rollback-site`\n19:15: spec.x-colony-extensions.replicas: `0` is a number; expected a number from 1 to 100000\n20:11: spec.x-colony-extensions.soak: `long` is a text; expected a duration such as `30s`, `5m` or `1h30m`",
    );
}

#[test]
fn charts_cannot_be_staged() {
    let helm = App { kind: "helm".to_owned(), ..App::new("hello", "1.0.0") };
    check_app(helm.clone().with("strategy: {type: rolling}"), "defaults");
    check_app(
        helm.with("strategy: {type: blue-green}"),
        "17:22: spec.x-colony-extensions.strategy.type: a profile of type `helm` cannot run two versions at once; expected `rolling`, `all-at-once` or `canary`",
    );
}

/// Compares what the block was read as, or all that was found in it.
#[track_caller]
fn check(block: &str, expected: &str) {
    check_app(App::new("hello", "1.0.0").with(block), expected);
}

#[track_caller]
fn check_app(app: App, expected: &str) {
    let site = "home".parse().expect("a name");
    let (block, text) = (&app.settings, app.text(&site));
    let name = "hello".parse().expect("a name");
    let actual = match Document::parse(&site, &name, &blob(&text), text.as_bytes()) {
        Ok(document) => render(&document.settings),
        Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    };
    let keys: Vec<String> = Settings::KEYS.iter().map(|it| format!("`{it}`")).collect();
    let (last, others) = keys.split_last().expect("keys");
    let expected = expected.replace("KEYS", &format!("{} or {last}", others.join(", ")));
    assert_eq!(actual, expected, "in\n{block}");
}

/// What differs from the defaults.
fn render(it: &Settings) -> String {
    let default = parts(&Settings::default());
    let parts = parts(it).into_iter().zip(default).filter(|(it, default)| it != default);
    let parts: Vec<String> = parts.map(|it| it.0).collect();
    if parts.is_empty() { "defaults".to_owned() } else { parts.join(", ") }
}

fn share(it: CountOrPercent) -> String {
    match it {
        CountOrPercent::Count(it) => it.to_string(),
        CountOrPercent::Percent(it) => format!("{it}%"),
    }
}

fn gate(it: Gate) -> String {
    format!("{}s {:?}", it.soak.as_secs(), it.promote)
}

fn parts(it: &Settings) -> [String; 8] {
    let strategy = match &it.strategy {
        Strategy::Canary(it) => {
            let first = match &it.first {
                Subset::Share(it) => share(*it),
                Subset::Labels(it) => format!("{it:?}"),
            };
            let steps: Vec<String> = it.steps.iter().map(|it| share(*it)).collect();
            let (steps, down) = (steps.join(", "), share(it.max_unavailable));
            format!("canary {first} then [{steps}] after {}, {down} down", gate(it.gate))
        }
        Strategy::BlueGreen(it) => {
            let down = it.max_unavailable.map_or("any".to_owned(), share);
            let drain = it.drain.as_secs();
            format!("blue-green after {}, {down} down, drain {drain}s", gate(it.gate))
        }
        Strategy::AllAtOnce => "all-at-once".to_owned(),
        Strategy::Rolling { max_unavailable } => format!("rolling {}", share(*max_unavailable)),
    };
    let on_failure = match it.on_failure {
        OnFailure::Stop => "stop",
        OnFailure::RollbackNode => "rollback-node",
        OnFailure::RollbackSite => "rollback-site",
    };
    [
        strategy,
        on_failure.to_owned(),
        format!("selector {:?}", it.selector),
        it.replicas.map(|it| format!("replicas {it}")).unwrap_or_default(),
        format!("tries {}/{}", it.install_tries, it.update_tries),
        format!("deadline {}s", it.progress_deadline.as_secs()),
        format!("soak {}s", it.soak.as_secs()),
        it.follow.as_ref().map(|it| format!("follow {it}")).unwrap_or_default(),
    ]
}
