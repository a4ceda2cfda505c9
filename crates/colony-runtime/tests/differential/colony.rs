//! The containers that colony makes of a file.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::case::{self, Case, Mode};
use crate::compare::Containers;
use crate::kit::Engine;
use crate::world::{App, World};

/// The containers, by service and number, or what was refused.
pub(crate) async fn containers(world: &World, case: &Case) -> Result<Containers, String> {
    let app = publish(world, case);
    let made = made(world, case, &app).await;
    let label = format!("colony.deployment={}", app.id);
    let found = made.map(|()| inspected(&world.engine, &label));
    clear(&world.engine, &label);
    let prefix = format!("colony-n1-{}-", case.name);
    Ok(found?.into_iter().map(|it| named(it, &prefix)).collect())
}

fn publish(world: &World, case: &Case) -> App {
    let others = case::FILES.map(|it| (it, case::file(it)));
    let mut files = vec![("compose.yaml", case.text.as_str())];
    files.extend(others.iter().map(|it| (it.0, it.1.as_str())));
    let parameters: String = case
        .parameters
        .iter()
        .map(|(name, value)| {
            format!(
                "    {}:\n      value: \"{value}\"\n      targets:\n        - {{ pointer: {name}, components: [web] }}\n",
                name.to_ascii_lowercase().replace('_', "-")
            )
        })
        .collect();
    let parameters =
        if parameters.is_empty() { parameters } else { format!("  parameters:\n{parameters}") };
    world.app_with(&case.name, &files, &parameters)
}

async fn made(world: &World, case: &Case, app: &App) -> Result<(), String> {
    let prepared = world.node.prepare(app).await.map_err(|it| format!("{it:?}"))?;
    if case.mode != Mode::Gated {
        return world.node.start_app(app).await.map(drop).map_err(|it| format!("{it:?}"));
    }
    // The gate never opens: all containers are created, and none but it starts.
    let label = format!("colony.deployment={}", app.id);
    let complete = async {
        while inspected(&world.engine, &label).len() < prepared.services.len() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = world.node.start_app(app) => Err(format!("the gate opened: {done:?}")),
        done = tokio::time::timeout(Duration::from_secs(30), complete) => {
            done.map_err(|_| "containers are missing".to_owned())
        }
    }
}

pub(crate) fn listed(engine: &Engine, label: &str) -> Vec<String> {
    let path = format!("/containers/json?all=true&filters=%7B%22label%22%3A%5B%22{label}%22%5D%7D");
    let found = engine.ask("GET", &path);
    let all = found.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(|it| it["Id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn inspected(engine: &Engine, label: &str) -> Vec<Value> {
    let ids = listed(engine, label);
    ids.iter().filter_map(|it| engine.find("GET", &format!("/containers/{it}/json")).ok()).collect()
}

/// Removes the containers and the networks with a label.
pub(crate) fn clear(engine: &Engine, label: &str) {
    for id in listed(engine, label) {
        let _ = engine.find("DELETE", &format!("/containers/{id}?force=true&v=true"));
    }
    let path = format!("/networks?filters=%7B%22label%22%3A%5B%22{label}%22%5D%7D");
    let found = engine.ask("GET", &path);
    for network in found.as_array().into_iter().flatten() {
        let id = network["Id"].as_str().unwrap();
        let _ = engine.find("DELETE", &format!("/networks/{id}"));
    }
}

/// By service and number, with the project's own names in place of colony's.
fn named(container: Value, prefix: &str) -> ((String, u32), Value) {
    let label = container["Config"]["Labels"]["colony.service"].as_str().unwrap().to_owned();
    let (service, number) = match label.rsplit_once('-') {
        Some((service, number)) if number.parse::<u32>().is_ok_and(|it| it > 1) => {
            (service.to_owned(), number.parse().unwrap())
        }
        _ => (label, 1),
    };
    let mut names = BTreeMap::new();
    let networks = container["NetworkSettings"]["Networks"].as_object().unwrap();
    for called in networks.keys().filter_map(|it| it.strip_prefix(prefix)) {
        let name = called.rsplit_once('-').unwrap().0;
        names.insert(format!("{prefix}{called}"), name.to_owned());
    }
    let volumes =
        container["Mounts"].as_array().unwrap().iter().filter_map(|it| it["Name"].as_str());
    for called in volumes.filter_map(|it| it.strip_prefix(&format!("{prefix}web-"))) {
        names.insert(format!("{prefix}web-{called}"), called.to_owned());
    }
    ((service, number), crate::compare::plain(container, &names))
}
