//! Deployments as this site has them.

use axum::Json;
use axum::extract::{Path, State};

use colony_api::request::ReleaseWhat;
use colony_api::view::{
    Deferred, DeploymentSite, DeploymentView, FailureView, HoldView, PlacementView, QuarantineView,
    RolledBackView, StoppedView,
};
use colony_core::attempt::{Failure, Retry};
use colony_core::event::{HoldScope, Presence};
use colony_core::site::{Deployment, Placement, Quarantine, Site};
use colony_core::state::State as PlacementState;
use colony_core::time::{Now, Spoken, Wall};
use colony_core::why::{self, Cause, Why};
use colony_wfm::Refusal;

use super::{Desk, outcome};
use crate::problem;
use crate::vitals::Vitals;

pub(super) async fn deployment_list(
    State(desk): State<Desk>,
) -> Result<Json<Vec<DeploymentView>>, Refusal> {
    let show =
        |site: &Site, it: &Deployment, now| with_pulls(view(site, it, now), site, &desk.vitals);
    let all = |site: &Site, now: Now| site.deployments().map(|it| show(site, it, now)).collect();
    Ok(Json(desk.brain.read(all).await.map_err(problem::denied)?))
}

pub(super) async fn deployment_show(
    State(desk): State<Desk>,
    Path(name): Path<String>,
) -> Result<Json<DeploymentView>, Refusal> {
    let id = desk.deployment_id(&name).await?;
    let show =
        |site: &Site, it: &Deployment, now| with_pulls(view(site, it, now), site, &desk.vitals);
    let one = |site: &Site, now: Now| site.deployment(&id).map(|it| show(site, it, now));
    let found = desk.brain.read(one).await.map_err(problem::denied)?;
    let gone = || colony_api::problem::Kind::NotFound.problem(format!("`{name}` has just left"));
    Ok(Json(found.ok_or_else(gone)?))
}

/// Fetching is no step of the site: only the node knows how far it is.
fn with_pulls(mut view: DeploymentView, site: &Site, vitals: &Vitals) -> DeploymentView {
    for at in &mut view.sites {
        let Some(id) = &at.id else { continue };
        for it in at.placements.iter_mut().filter(|it| it.state.is_in_flight()) {
            it.progress = vitals.pull(site, &it.node, id).map(|it| it.to_string());
        }
    }
    view
}

pub(super) fn view(site: &Site, deployment: &Deployment, now: Now) -> DeploymentView {
    let policy = deployment.policy();
    let application = policy.map(|it| it.spec.spec.application_id.to_string());
    let outcome = outcome::outcome(site, deployment);
    let reasons = why::deployment_by_id(site, &deployment.id, now);
    let summary = outcome::summary(site, deployment, now);
    let sentence = match reasons.first() {
        Some(first) => format!("{summary}; {first}"),
        None => summary,
    };
    DeploymentView {
        name: deployment.name.clone(),
        application: application.unwrap_or_default(),
        version: outcome::version_of(deployment, deployment.wanted()),
        outcome,
        sentence,
        sites: vec![at_site(site, deployment, &reasons, now)],
    }
}

fn at_site(site: &Site, deployment: &Deployment, reasons: &[Why], now: Now) -> DeploymentSite {
    let placements: Vec<PlacementView> = outcome::placements(site, deployment)
        .map(|it| placement(site, deployment, it, now))
        .collect();
    let since = placements.iter().map(|it| it.since).max();
    let since = since.or(reasons.iter().find_map(|it| it.since)).unwrap_or(now.wall);
    let path = format!("deployments/{}/{}.yaml", site.name(), deployment.name);
    let quarantine = deployment.quarantine().values();
    DeploymentSite {
        site: site.name().clone(),
        id: Some(deployment.id.clone()),
        standing: outcome::standing(site, deployment),
        since,
        version: outcome::version_of(deployment, deployment.wanted()),
        commit: site.git().cloned(),
        silent_since: None,
        placements,
        quarantine: quarantine.map(|it| quarantined(deployment, it)).collect(),
        rolled_back: rolled_back(deployment),
        stopped: reasons.iter().find_map(|it| stopped(&it.cause)),
        rollout: deployment.rollout_view(now).as_ref().map(Into::into),
        hold: hold(site, deployment),
        conflict: None,
        findings: site.refused_files().get(&path).cloned().unwrap_or_default(),
        deleted: 0,
        unconfirmed: 0,
        why: reasons.iter().map(ToString::to_string).collect(),
    }
}

fn placement(site: &Site, of: &Deployment, placement: &Placement, now: Now) -> PlacementView {
    let revisions = &placement.revisions;
    let version = |it: &colony_core::attempt::Revision| outcome::version_of(of, it);
    let member = site.member(&placement.id.node);
    let presence = member.map_or(Presence::Joined, |it| it.presence());
    let away =
        member.filter(|it| !it.is_online() && placement.state() != PlacementState::Installed);
    PlacementView {
        node: placement.id.node.clone(),
        state: placement.state(),
        since: placement.since,
        version: revisions.target.as_ref().and_then(version),
        last_good: revisions.last_good.as_ref().and_then(version),
        commit: None,
        attempt: placement.attempt_number(),
        presence,
        last_heard: member.map(|it| it.last_heard()),
        deferred: away.map(|it| deferred(it.last_heard(), now)),
        failure: placement.failure.as_ref().map(|it| failed(it, site.retry(&placement.id, now))),
        progress: None,
        flagged: None,
    }
}

fn deferred(last_heard: Wall, now: Now) -> Deferred {
    let reason = format!("offline {}", Spoken(now.wall.since(last_heard)));
    Deferred { reason, since: Some(last_heard) }
}

fn failed(it: &Failure, retry: Option<Retry>) -> FailureView {
    FailureView {
        tries: retry.map(|it| it.tried),
        of: retry.and_then(|it| it.of),
        retry_at: retry.and_then(|it| it.at),
        ..failure(it)
    }
}

fn failure(failure: &Failure) -> FailureView {
    FailureView {
        code: failure.code.as_str().to_owned(),
        message: failure.message.clone(),
        source: failure.source.clone(),
        tries: None,
        of: None,
        retry_at: None,
        remedy: Some(failure.code.remedy().to_owned()),
        log: failure.log.clone(),
    }
}

fn quarantined(deployment: &Deployment, it: &Quarantine) -> QuarantineView {
    let node = it.node.as_ref().map(|it| format!("{it} ")).unwrap_or_default();
    let message = match it.failure.message.as_str() {
        "" => String::new(),
        message => format!(" ({message})"),
    };
    QuarantineView {
        version: outcome::version_of(deployment, &it.revision),
        workload: it.revision.workload.to_string(),
        reason: format!("{node}{}{message}", it.failure.code.as_str()),
        node: it.node.clone(),
        failure: Some(failure(&it.failure)),
        since: it.since,
    }
}

fn rolled_back(deployment: &Deployment) -> Option<RolledBackView> {
    let bad = deployment.quarantine().get(&deployment.wanted().workload)?;
    Some(RolledBackView {
        from: outcome::version_of(deployment, &bad.revision),
        to: deployment.good().and_then(|it| outcome::version_of(deployment, it)),
        since: bad.since,
        revert: None,
        not_reverted: None,
    })
}

fn stopped(cause: &Cause) -> Option<StoppedView> {
    let Cause::WaveStopped { node, failure: found, since, .. } = cause else { return None };
    Some(StoppedView { node: node.clone(), failure: failure(found), since: *since })
}

fn hold(site: &Site, deployment: &Deployment) -> Option<HoldView> {
    let held = site.holds().get(&HoldScope::Deployment(deployment.id.clone()))?;
    Some(HoldView {
        what: ReleaseWhat::Hold,
        deployment: Some(deployment.name.clone()),
        by: held.by.clone(),
        note: held.note.clone(),
        since: held.since,
        commit: None,
    })
}
