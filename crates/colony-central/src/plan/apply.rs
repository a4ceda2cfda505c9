//! Stores the intent of a plan before the request is answered.

use std::time::Duration;

use colony_api::problem::Kind;
use colony_api::view::DeployAnswer;
use colony_core::event::CentralEvent;
use colony_core::fleet::Fleet;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::{Change, ChangeEdit, NewEvent, Write};
use tokio::sync::MutexGuard;

use super::Plan;
use crate::app::App;
use crate::auth::Operator;
use crate::brain::own_event;
use crate::clock;
use crate::command;
use crate::command::force;
use crate::fault::Fault;

/// The trailer of a commit that names the deployment.
const TRAILER: &str = "Colony-Deployment";
/// How long a plan waits for an earlier change of the same files.
const PATIENCE: Duration = Duration::from_secs(10);

/// Applies a plan, or only shows it.
pub(crate) async fn apply(
    app: &App,
    operator: &Operator,
    plan: Plan,
    dry_run: bool,
    expected: Option<&str>,
) -> Result<DeployAnswer, Fault> {
    if expected.is_some_and(|it| it != plan.view.hash) {
        let detail = "Git or the fleet changed meanwhile; run the command again";
        return Err(Kind::PlanChanged.problem(detail).into());
    }
    let is_empty = plan.edits.is_empty() && plan.marks.is_empty() && plan.commands.is_empty();
    if dry_run || is_empty {
        return Ok(DeployAnswer { plan: plan.view, accepted: false, event: None });
    }
    if let Some(refusal) = &plan.view.refusal {
        return Err(Fault::refused(refusal));
    }
    crate::writer::must_be_writable(plan.edits.iter().chain(&plan.marks).map(|it| &it.1))?;
    let event = Some(crate::view::event_id(app, *app.brain.head().borrow()));
    let now = clock::wall();
    app.brain.write(|fleet| store(fleet, operator, &plan, now)).await?;
    app.forces.add(&plan.forces, &operator.name);
    colony_process::fail::hit(colony_process::fail::Point::CentralChangeQueued);
    app.writer.wake();
    Ok(DeployAnswer { plan: plan.view, accepted: true, event })
}

/// Waits for the turn to plan a deployment: no change of its files is queued,
/// so that the plan is based on all earlier requests.
pub(crate) async fn turn<'a>(app: &'a App, name: &str) -> Result<MutexGuard<'a, ()>, Fault> {
    let end = tokio::time::sleep(PATIENCE);
    tokio::pin!(end);
    let mut head = app.brain.head();
    loop {
        head.mark_unchanged();
        let turn = app.planning.lock().await;
        let Some(path) = queued(app, name).await? else { return Ok(turn) };
        drop(turn);
        tokio::select! {
            () = &mut end => return Err(waiting(app, &path)),
            moved = head.changed() => moved.map_err(anyhow::Error::from)?,
        }
    }
}

/// A file of the deployment that waits for Git.
async fn queued(app: &App, name: &str) -> Result<Option<String>, Fault> {
    let suffix = format!("/{name}.yaml");
    let open = app.brain.store().changes_open().await?;
    let marks = |it: &Change| it.trailers.iter().any(|(key, at)| key == TRAILER && at == name);
    let mut paths = open.iter().flat_map(|change| {
        change.edits.iter().filter(|it| it.path.ends_with(&suffix) || marks(change))
    });
    Ok(paths.next().map(|it| it.path.clone()))
}

fn waiting(app: &App, path: &str) -> Fault {
    let why = app.repo.problem().map_or(String::new(), |it| format!(": {it}"));
    Fault::later(format!("an earlier change of {path} still waits for Git{why}"), 10)
}

fn store(
    fleet: &mut Fleet,
    operator: &Operator,
    plan: &Plan,
    now: Timestamp,
) -> Result<((), Write), Fault> {
    let name = &plan.view.name;
    let mut write = Write::default();
    for (site, _) in &plan.edits {
        let planned = fleet.change_planned(site, name, now);
        planned.map_err(|it| Fault::not_found(it.to_string()))?;
    }
    if !plan.edits.is_empty() || !plan.marks.is_empty() {
        let change = change(operator, plan, now);
        write.events.extend(events(operator, plan, &change, now));
        write.changes_put.push(change);
    }
    for (site, action) in &plan.commands {
        let order = command::Order { site, action, deployment: Some(name) };
        write.events.push(order.issue(fleet, &operator.name, now)?);
    }
    write.notes = plan.forces.iter().map(|it| force::note(it, Some(&operator.name))).collect();
    Ok(((), write))
}

fn change(operator: &Operator, plan: &Plan, now: Timestamp) -> Change {
    Change {
        id: uuid::Uuid::now_v7().to_string(),
        at: now,
        actor: operator.name.clone(),
        message: plan.message.clone(),
        trailers: vec![
            (TRAILER.to_owned(), plan.view.name.to_string()),
            ("Colony-Actor".to_owned(), operator.name.clone()),
        ],
        edits: plan.edits.iter().chain(&plan.marks).map(|it| it.1.clone()).collect(),
    }
}

fn events<'a>(
    operator: &'a Operator,
    plan: &'a Plan,
    change: &'a Change,
    now: Timestamp,
) -> impl Iterator<Item = NewEvent> + 'a {
    // A mark is part of the deletion, unless that has already begun.
    let own = |it: &&(SiteName, ChangeEdit)| it.1.only_with.is_none();
    plan.edits.iter().chain(plan.marks.iter().filter(own)).map(move |(site, edit)| {
        let event = CentralEvent::DeploymentPlanned {
            application: plan.view.application.clone(),
            version: plan.view.version.clone(),
            path: edit.path.clone(),
            removed: edit.text.is_none(),
            message: plan.message.clone(),
            change: change.id.clone(),
            plan: plan.view.hash.clone(),
        };
        own_event(&event, &operator.name, now, (Some(site), Some(&plan.view.name)))
    })
}

#[cfg(test)]
mod tests {
    use colony_testkit::{App as Application, Plant, deployment_id};

    use super::*;
    use crate::Config;

    #[tokio::test]
    async fn a_forced_delete_that_was_not_stored_forces_nothing() {
        let mut plant = Plant::new();
        plant.join("a");
        plant.deploy(&Application::new("hello", "1.0.0"));
        plant.undeploy("hello");
        let site = plant.site.name().clone();
        let dir = tempfile::tempdir().expect("a folder");
        let listen = "127.0.0.1:0".parse().expect("an address");
        let central = crate::start(Config::new(dir.path().join("central"), listen)).await;
        let app = central.expect("it starts").app();
        let name = "hello".parse().expect("a name");
        let mut plan = Plan::new(super::super::view(&name, "hello"), "Delete hello".to_owned());
        let path = format!("deployments/{site}/hello.yaml");
        plan.edits
            .push((site.clone(), ChangeEdit { path, expected: None, text: None, only_with: None }));
        plan.forces.push((site, deployment_id("hello")));

        let refused = apply(&app, &Operator::admin(), plan, false, None).await;

        refused.expect_err("the site is unknown");
        assert_eq!(app.forces.due(&plant.events), [], "a later plain delete is a plain one");
    }
}
