//! Compares the services of a project with each other.

use std::collections::BTreeMap;

use colony_core::margo::yaml::Cursor;

use super::project::{Condition, Healthcheck, Port, Project};
use crate::compose::service::depends::{self, Restart};
use crate::compose::service::port;
use crate::compose::syntax::value::take;

/// Reports conflicts between services; `places` holds the position of each.
pub(super) fn check(project: &Project, places: &BTreeMap<&str, Cursor<'_>>) {
    cycles(project, places);
    ports(places);
    endings(project, places);
    waits(project, places);
}

fn cycles(project: &Project, places: &BTreeMap<&str, Cursor<'_>>) {
    let mut done: Vec<&str> = Vec::new();
    for name in project.services.keys() {
        let Some(cycle) = cycle(project, name, &mut Vec::new(), &mut done) else { continue };
        if let Some(place) = cycle.first().and_then(|it| places.get(it)) {
            let place = place.field("depends_on").unwrap_or_else(|| place.clone());
            let way = [&cycle[..], &cycle[..1]].concat().join(" → ");
            place
                .error(format!("services wait for each other: {way}"), "an order to start them in");
        }
        return;
    }
}

/// The first cycle of dependencies.
fn cycle<'p>(
    project: &'p Project,
    name: &'p str,
    way: &mut Vec<&'p str>,
    done: &mut Vec<&'p str>,
) -> Option<Vec<&'p str>> {
    if let Some(start) = way.iter().position(|it| *it == name) {
        return Some(way[start..].to_vec());
    }
    if done.contains(&name) {
        return None;
    }
    way.push(name);
    let next = project.services.get(name).into_iter().flat_map(|it| it.depends_on.keys());
    let found = next.into_iter().find_map(|it| cycle(project, it, way, done));
    way.pop();
    done.push(name);
    found
}

fn ports(places: &BTreeMap<&str, Cursor<'_>>) {
    let mut taken: BTreeMap<u16, Vec<(&str, Port)>> = BTreeMap::new();
    for (name, place) in places {
        for (item, port) in port::located(place) {
            let Some(host) = port.host else { continue };
            let others = taken.entry(host).or_default();
            if let Some((other, _)) = others.iter().find(|it| port::collide(&it.1, &port)) {
                let problem = format!("host port {host} is published by `{other}` already");
                item.error(problem, "each host port once");
            }
            others.push((*name, port));
        }
    }
}

/// A service may end if and only if another one waits for its end.
fn endings(project: &Project, places: &BTreeMap<&str, Cursor<'_>>) {
    let one_shots = project.one_shots();
    for (name, place) in places {
        let Some(restart) = take(place, "restart", depends::restart) else { continue };
        let Some(place) = place.field("restart") else { continue };
        match (restart, one_shots.contains(name)) {
            (Restart::Always, true) => {
                place.error("another service waits for its end", "`no` or `on-failure`");
            }
            (Restart::Ends, false) => place.error(
                "the node keeps services running and waits for none to end",
                "`always` or `unless-stopped`, or a service that waits with `service_completed_successfully`",
            ),
            (Restart::Always, false) | (Restart::Ends, true) => {}
        }
    }
}

fn waits(project: &Project, places: &BTreeMap<&str, Cursor<'_>>) {
    let unchecked = |name: &str| {
        let service = project.services.get(name);
        service.is_some_and(|it| it.healthcheck == Some(Healthcheck::Disabled))
    };
    for (name, service) in &project.services {
        let healthy = service.depends_on.iter().filter(|it| *it.1 == Condition::Healthy);
        for (other, _) in healthy.filter(|it| unchecked(it.0)) {
            let place = places.get(name.as_str()).and_then(|it| it.field("depends_on"));
            let problem = format!("waits for `{other}` to be healthy, whose check is disabled");
            place.into_iter().for_each(|it| it.error(problem.clone(), "`service_started`"));
        }
    }
}
