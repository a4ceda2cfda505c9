//! Profiles, several containers of a service, and services that extend others.

use serde_json::json;

use super::*;

const PROFILES: &str =
    "services:\n  web: {image: x}\n  debug: {image: x, profiles: [debug, more]}\n";

#[test]
fn profiles_are_chosen_by_a_parameter() {
    let names = |profiles: Option<&str>| {
        let chosen = profiles.map(|it| ("COMPOSE_PROFILES".to_owned(), it.to_owned()));
        let project = archive(PROFILES).project(&chosen.into_iter().collect());
        project.expect("it is read").services.into_keys().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(None), "web");
    assert_eq!(names(Some("other")), "web");
    assert_eq!(names(Some("other, more")), "debug web");
    assert_eq!(names(Some("*")), "debug web");
}

#[test]
fn an_absent_service_is_not_waited_for() {
    let on = |more: &str| {
        format!(
            "services:\n  web: {{image: x, depends_on: {more}}}\n  db: {{image: x, profiles: [a]}}\n"
        )
    };
    let optional = on("{db: {condition: service_healthy, required: false}}");
    assert!(project(&optional).services["web"].depends_on.is_empty());
    check(
        &on("[db]"),
        "compose.yaml:2:32: services.web.depends_on[0]: `db` has a profile that is not chosen; expected `required: false`, or a service that is there\n",
    );
    check(
        "services: {web: {image: x, profiles: [a]}}\n",
        "compose.yaml:1:11: services: has no service with a container; expected a service without `profiles`, or the parameter `COMPOSE_PROFILES`\n",
    );
}

#[test]
fn further_containers_are_services_that_share_a_name() {
    let project = project(
        "services:\n  web: {image: x, scale: 3, ports: ['80']}\n  job: {image: x, depends_on: [web]}\n  none: {image: x, deploy: {replicas: 0}}\n",
    );
    let names: Vec<&str> = project.services.keys().map(String::as_str).collect();
    assert_eq!(names, ["job", "web", "web-2", "web-3"]);
    assert_eq!(project.services["web-3"].networks["default"].aliases, ["web"]);
    let needs = json(&project.services["job"].depends_on);
    assert_eq!(needs, json!({"web": "started", "web-2": "started", "web-3": "started"}));
}

#[test]
fn what_only_one_container_can_have_is_refused() {
    check(
        "services: {web: {image: x, scale: 2, ports: ['80:80']}}\n",
        "compose.yaml:1:45: services.web.ports: several containers cannot publish one port; expected ports of the container alone\n",
    );
    check(
        "services:\n  web: {image: x, scale: 2}\n  web-2: {image: x}\n",
        "compose.yaml:2:8: services.web: needs the name `web-2`, which a service has; expected another name of one of the two\n",
    );
    check(
        "services: {web: {image: x, scale: 21}}\n",
        "compose.yaml:1:35: services.web.scale: `21` is a number; expected a number from 0 to 20\n",
    );
    check(
        "services: {web: {image: x, scale: 2, deploy: {replicas: 3}}}\n",
        "compose.yaml:1:57: services.web.deploy.replicas: differs from `scale` of the service; expected the limit once\n",
    );
}

#[test]
fn a_service_takes_the_values_of_another() {
    let project = project(
        "services:\n  base: {image: x, environment: {A: 1, B: 2}, command: [a, b], volumes: ['data:/d', '/a:/b'], dns: 1.1.1.1}\n  \
         web: {extends: base, environment: [B=3], command: c, volumes: ['/c:/d'], dns: [8.8.8.8]}\n\
         volumes: {data:}\n",
    );
    let web = &project.services["web"];
    assert_eq!(
        (web.image.as_str(), &web.environment["A"], &web.environment["B"]),
        ("x", &"1".to_owned(), &"3".to_owned())
    );
    assert_eq!(web.command, Some(vec!["c".to_owned()]));
    let mounts: Vec<_> = web.mounts.iter().map(|it| it.source.as_deref()).collect();
    assert_eq!(mounts, [Some("/c"), Some("/a")]);
    assert_eq!(web.dns, ["1.1.1.1", "8.8.8.8"]);
}

#[test]
fn values_that_were_taken_keep_their_place() {
    check(
        "services:\n  base: {image: x, cpus: y}\n  web: {extends: {service: base}}\n",
        "compose.yaml:2:26: services.base.cpus: `y` is a text; expected a number above zero\n\
         compose.yaml:2:26: services.web.cpus: `y` is a text; expected a number above zero\n",
    );
}

#[test]
fn services_that_cannot_be_completed_are_refused() {
    check(
        "services:\n  a: {image: x, extends: b}\n  b: {image: x, extends: a}\n",
        "compose.yaml:2:26: services.a.extends: `a` extends itself; expected a service that does not\n",
    );
    check(
        "services:\n  a: {image: x, extends: b}\n",
        "compose.yaml:2:26: services.a.extends: names a service that is not there; expected a name under `services`\n",
    );
}

/// Each of many services would repeat one large service.
#[test]
fn a_file_does_not_grow_without_end() {
    let mut text = "services:\n  a:\n    image: x\n    environment: [".to_owned();
    text.extend((0..5_000).map(|it| format!("A{it}=1, ")));
    text.push_str("Z=1]\n");
    text.extend((0..60).map(|it| format!("  s{it}: {{extends: a}}\n")));
    let found = findings(&text);
    assert!(
        found.contains("makes the file too large; expected fewer or smaller services"),
        "{found}"
    );
}

#[track_caller]
fn check(compose: &str, expected: &str) {
    assert_eq!(findings(compose), expected, "{compose}");
}
