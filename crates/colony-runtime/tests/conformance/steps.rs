//! The steps that the behaviours are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::DeploymentId;
use colony_core::node::{Action, Container, Health, Prepared, Status};

use super::{App, Bench, Node};

/// How long a state may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The containers of a deployment, by service.
pub(super) type Seen = BTreeMap<String, Container>;

pub(super) async fn prepare(node: &impl Node, app: &App) -> Result<Prepared, Failure> {
    let (deployment, component) = (app.id(), app.component.name.clone());
    let fingerprint = app.fingerprint;
    node.perform(Action::Prepare { deployment, component, fingerprint, refresh: false }, app).await
}

pub(super) async fn start(node: &impl Node, app: &App) -> Result<Prepared, Failure> {
    let (deployment, component) = (app.id(), app.component.name.clone());
    let fingerprint = app.fingerprint;
    node.perform(Action::Start { deployment, component, fingerprint }, app).await
}

pub(super) async fn stage(node: &impl Node, app: &App) -> Result<Prepared, Failure> {
    let (deployment, component) = (app.id(), app.component.name.clone());
    let fingerprint = app.fingerprint;
    node.perform(Action::Stage { deployment, component, fingerprint }, app).await
}

pub(super) async fn unstage(node: &impl Node, app: &App) -> Result<Prepared, Failure> {
    let (deployment, component) = (app.id(), app.component.name.clone());
    node.perform(Action::Unstage { deployment, component }, app).await
}

/// Removes what was not made from `app`.
pub(super) async fn clear(node: &impl Node, app: &App) -> Result<Prepared, Failure> {
    let (deployment, component) = (app.id(), app.component.name.clone());
    let keep = Some(app.fingerprint);
    node.perform(Action::Clear { deployment, component, keep, gone: false }, app).await
}

pub(super) async fn remove(node: &impl Node, app: &App) -> Result<Prepared, Failure> {
    node.perform(Action::Remove { deployment: app.id(), purge: false, images: true }, app).await
}

/// Replaces the active version by `app`, and returns when that is healthy.
pub(super) async fn replace(node: &impl Node, app: &App) -> Result<Seen, Failure> {
    let services = prepare(node, app).await?.services;
    clear(node, app).await?;
    let others = look(node, app, false).await?;
    assert!(others.values().all(|it| it.fingerprint == app.fingerprint), "{others:?}");
    start(node, app).await?;
    until(node, app, false, "healthy", |it| is_healthy(it, &services)).await
}

/// Installs `app`, and returns when it is healthy.
pub(super) async fn install(node: &impl Node, app: &App) -> Result<Seen, Failure> {
    let services = prepare(node, app).await?.services;
    start(node, app).await?;
    until(node, app, false, "healthy", |it| is_healthy(it, &services)).await
}

/// Starts `app` again, and returns when it has the health of `before`.
pub(super) async fn restart(node: &impl Node, app: &App, before: &Seen) -> Result<Seen, Failure> {
    start(node, app).await?;
    let services = before.keys().cloned().collect();
    until(node, app, false, "healthy again", |it| is_healthy(it, &services)).await
}

pub(super) async fn look(node: &impl Node, app: &App, staged: bool) -> Result<Seen, Failure> {
    let all = node.observe(&BTreeSet::from([app.id()])).await?;
    let own = all.into_iter().filter(|it| it.deployment == app.id() && it.staged == staged);
    Ok(own.map(|it| (it.service.clone(), it)).collect())
}

/// Looks each time something has changed, until `reached`.
pub(super) async fn until(
    node: &impl Node,
    app: &App,
    staged: bool,
    what: &str,
    reached: impl Fn(&Seen) -> bool,
) -> Result<Seen, Failure> {
    let mut seen = Seen::new();
    let wait = async {
        loop {
            seen = look(node, app, staged).await?;
            if reached(&seen) {
                return Ok(());
            }
            node.changed().await;
        }
    };
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(reached) => reached.map(|()| seen),
        Err(_) => panic!("{} is not {what}: {seen:#?}", app.name()),
    }
}

/// Starts `app` until the engine is there.
pub(super) async fn until_available(node: &impl Node, app: &App) -> Result<(), Failure> {
    let wait = async {
        loop {
            match start(node, app).await {
                Err(failure) if failure.code == Code::EngineUnavailable => node.changed().await,
                started => return started.map(drop),
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the engine is back")
}

pub(super) fn is_healthy(seen: &Seen, services: &BTreeSet<String>) -> bool {
    let well = |it: &Container| it.status == Status::Running && it.health == Health::Healthy;
    seen.keys().eq(services) && seen.values().all(well)
}

/// The current run of each service.
pub(super) fn runs(bench: &impl Bench, seen: &Seen) -> BTreeMap<String, String> {
    let workloads = seen.iter().filter(|it| !bench.is_record(it.0));
    workloads.map(|(service, it)| (service.clone(), it.run.clone())).collect()
}

/// The deployments of a node that has none on record.
pub(super) async fn deployments(node: &impl Node) -> Result<BTreeSet<DeploymentId>, Failure> {
    Ok(node.observe(&BTreeSet::new()).await?.into_iter().map(|it| it.deployment).collect())
}
