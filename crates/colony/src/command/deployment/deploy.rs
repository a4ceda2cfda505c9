//! Changes to the desired state: deploy, roll back, delete.
//!
//! Each is a plan, then possibly a confirmation, then a commit, then possibly a
//! watch.

use colony_api::Client;
use colony_api::request::{self, DeleteQuery, DeployRequest};
use colony_api::view::{DeployAnswer, PlanAction, PlanView};
use colony_core::margo::finding::Severity;

use crate::cli::{Delete, Deploy, Patience, Rollback};
use crate::command::deployment::watch::Watch;
use crate::output::Out;
use crate::output::view::end::Goal;
use crate::output::view::plan;

pub(crate) async fn deploy(client: &Client, args: Deploy, out: &mut Out) -> anyhow::Result<u8> {
    let change = Change::Deploy(Box::new(args.request()));
    let watched = args.watch.then_some(args.patience);
    let how = ChangeOptions { dry_run: args.dry_run, yes: args.yes, watched, goal: Goal::Present };
    make(client, args.name(), change, how, out).await
}

pub(super) async fn rollback(client: &Client, args: Rollback, out: &mut Out) -> anyhow::Result<u8> {
    let watched = args.watch.then_some(args.patience);
    let how = ChangeOptions { dry_run: args.dry_run, yes: args.yes, watched, goal: Goal::Back };
    let change = Change::Rollback(request::Rollback {
        to: args.to,
        sites: args.site,
        dry_run: args.dry_run,
        plan_hash: None,
    });
    make(client, &args.name, change, how, out).await
}

pub(super) async fn delete(client: &Client, args: Delete, out: &mut Out) -> anyhow::Result<u8> {
    let watched = args.watch.then_some(args.patience);
    let how = ChangeOptions { dry_run: args.dry_run, yes: args.yes, watched, goal: Goal::Absent };
    let sites = (!args.site.is_empty()).then(|| args.site.join(","));
    let Delete { force, purge, dry_run, .. } = args;
    let change = Change::Delete(DeleteQuery { sites, force, purge, dry_run, plan_hash: None });
    make(client, &args.name, change, how, out).await
}

/// The change that is requested.
enum Change {
    Deploy(Box<DeployRequest>),
    Rollback(request::Rollback),
    Delete(DeleteQuery),
}

/// The options of a change.
struct ChangeOptions {
    dry_run: bool,
    yes: bool,
    /// Whether to watch the change, and for how long.
    watched: Option<Patience>,
    goal: Goal,
}

impl Change {
    async fn send(&self, client: &Client, name: &str) -> anyhow::Result<DeployAnswer> {
        Ok(match self {
            Change::Deploy(request) => client.deploy(request).await?,
            Change::Rollback(request) => client.deployment_rollback(name, request).await?,
            Change::Delete(query) => client.deployment_delete(name, query).await?,
        })
    }

    fn set_dry_run(&mut self, dry: bool) {
        match self {
            Change::Deploy(request) => request.dry_run = dry,
            Change::Rollback(request) => request.dry_run = dry,
            Change::Delete(query) => query.dry_run = dry,
        }
    }

    /// Pins the request to the plan that was shown: no other plan is applied.
    fn pin(&mut self, hash: String) {
        match self {
            Change::Deploy(request) => request.plan_hash = Some(hash),
            Change::Rollback(request) => request.plan_hash = Some(hash),
            Change::Delete(query) => query.plan_hash = Some(hash),
        }
    }
}

async fn make(
    client: &Client,
    name: &str,
    mut change: Change,
    how: ChangeOptions,
    out: &mut Out,
) -> anyhow::Result<u8> {
    if how.dry_run {
        return dry_run(client, name, &change, out).await;
    }
    let consent = match !how.yes && out.has_person() {
        true => consent(client, name, &mut change, out).await?,
        false => Consent::NotNeeded,
    };
    if consent == Consent::Declined {
        out.note("nothing was changed")?;
        return Ok(0);
    }
    let answer = change.send(client, name).await?;
    let name = answer.plan.name.to_string();
    out.note(&said(&answer))?;
    if consent == Consent::NotNeeded {
        out.note(&plan::remarks(&answer.plan))?;
    }
    if let Some(patience) = how.watched {
        let version = answer.plan.version.clone();
        let watch = Watch { name: &name, goal: how.goal, version, patience };
        return watch.run(client, answer.event, out).await;
    }
    if !out.is_for_people() {
        out.show(&answer, |it, look| plan::show(&it.plan, look))?;
    } else if answer.accepted {
        out.note(&format!("see: colony deployment show {name} --watch"))?;
    }
    Ok(if refused(&answer.plan) { 1 } else { 0 })
}

/// `hello 1.1: create 1, update 2`
fn said(answer: &DeployAnswer) -> String {
    let plan = &answer.plan;
    let version = plan.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let summary = plan::summary(plan);
    match answer.accepted {
        true => format!("{}{version}: {summary}", plan.name),
        false => format!("{}{version}: nothing to change ({summary})", plan.name),
    }
}

async fn dry_run(
    client: &Client,
    name: &str,
    change: &Change,
    out: &mut Out,
) -> anyhow::Result<u8> {
    let answer = change.send(client, name).await?;
    out.show(&answer.plan, plan::show)?;
    Ok(match answer.plan {
        plan if refused(&plan) => 1,
        plan if plan.has_changes() => 2,
        _ => 0,
    })
}

/// The plan cannot be executed at all.
fn refused(plan: &PlanView) -> bool {
    let all = !plan.targets.is_empty() && plan.count(PlanAction::Refused) == plan.targets.len();
    let error = plan.findings.iter().any(|it| it.severity == Severity::Error);
    all || error || plan.refusal.is_some()
}

/// Whether a person agreed to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// No running workload is touched, or there is no person to ask.
    NotNeeded,
    /// Given after the remarks of the plan were shown.
    Given,
    Declined,
}

/// Asks a person before a running workload is touched or data is removed.
async fn consent(
    client: &Client,
    name: &str,
    change: &mut Change,
    out: &mut Out,
) -> anyhow::Result<Consent> {
    change.set_dry_run(true);
    let plan = change.send(client, name).await?.plan;
    change.set_dry_run(false);
    let harmless = !plan.touches_running() && plan.purges.is_empty();
    if harmless || plan.refusal.is_some() {
        return Ok(Consent::NotNeeded);
    }
    out.note(&plan::remarks(&plan))?;
    let version = plan.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let question = format!("{}{version}: {}. Continue?", plan.name, plan::summary(&plan));
    let yes = out.confirm(&question)?;
    change.pin(plan.hash);
    Ok(if yes { Consent::Given } else { Consent::Declined })
}
