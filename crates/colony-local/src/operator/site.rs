//! The site at a glance.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};

use colony_api::request::ReleaseWhat;
use colony_api::view::{
    Attention, DeploymentSummary, HoldView, NodeCounts, Role, SitePresence, SiteView, StatusView,
};
use colony_core::event::HoldScope;
use colony_core::site::{Deployment, Site};
use colony_core::state::State as PlacementState;
use colony_core::time::Now;
use colony_core::why::{self, Owner, Why};
use colony_wfm::{Readiness, Refusal};

use super::{Desk, deployment, outcome};
use crate::problem;

pub(super) async fn status_show(State(desk): State<Desk>) -> Result<Json<StatusView>, Refusal> {
    let readiness = desk.health.readiness(&desk.brain).await;
    let build = |site: &Site, now: Now| StatusView {
        role: Role::Local,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        url: desk.urls.first().cloned().unwrap_or_default(),
        ready: readiness.ready,
        reasons: readiness.reasons.clone(),
        commit: site.git().cloned(),
        at: now.wall,
        sites: vec![view(&desk, site, &readiness, now)],
        deployments: site.deployments().map(|it| summary(site, it, now)).collect(),
        attention: attention(site, now),
    };
    Ok(Json(desk.brain.read(build).await.map_err(problem::denied)?))
}

pub(super) async fn site_list(State(desk): State<Desk>) -> Result<Json<Vec<SiteView>>, Refusal> {
    Ok(Json(vec![desk.site_view().await?]))
}

pub(super) async fn site_show(
    State(desk): State<Desk>,
    Path(site): Path<String>,
) -> Result<Json<SiteView>, Refusal> {
    desk.own(&site)?;
    Ok(Json(desk.site_view().await?))
}

impl Desk {
    async fn site_view(&self) -> Result<SiteView, Refusal> {
        let readiness = self.health.readiness(&self.brain).await;
        let build = |site: &Site, now: Now| view(self, site, &readiness, now);
        Ok(self.brain.read(build).await.map_err(problem::denied)?)
    }
}

fn view(desk: &Desk, site: &Site, readiness: &Readiness, now: Now) -> SiteView {
    let mut standings = BTreeMap::new();
    for deployment in site.deployments() {
        *standings.entry(outcome::standing(site, deployment)).or_insert(0) += 1;
    }
    SiteView {
        name: site.name().clone(),
        presence: SitePresence::Online,
        joined: None,
        last_heard: Some(now.wall),
        incarnation: Some(desk.member.incarnation),
        ready: readiness.ready,
        reasons: readiness.reasons.clone(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        commit: site.git().cloned(),
        labels: BTreeMap::new(),
        urls: desk.urls.clone(),
        ca: None,
        nodes: nodes(site),
        deployments: standings,
        holds: holds(site, now),
        findings: site.refused_files().values().flatten().cloned().collect(),
        commands_open: 0,
    }
}

fn nodes(site: &Site) -> NodeCounts {
    let mut counts = NodeCounts::default();
    for member in site.members() {
        counts.total += 1;
        counts.online += u64::from(member.is_online());
        counts.cordoned += u64::from(member.is_cordoned());
    }
    counts
}

fn holds(site: &Site, now: Now) -> Vec<HoldView> {
    let colony = |what: ReleaseWhat| HoldView {
        what,
        deployment: None,
        by: "colony".to_owned(),
        note: String::new(),
        since: now.wall,
        commit: None,
    };
    let own = site.holds().iter().map(|(scope, it)| HoldView {
        deployment: held(site, scope),
        by: it.by.clone(),
        note: it.note.clone(),
        since: it.since,
        ..colony(ReleaseWhat::Hold)
    });
    let removal = (!site.held_removals().is_empty()).then(|| colony(ReleaseWhat::Removal));
    let history = site.held_history().cloned();
    let history = history.map(|it| HoldView { commit: Some(it), ..colony(ReleaseWhat::History) });
    own.chain(removal).chain(history).collect()
}

fn held(site: &Site, scope: &HoldScope) -> Option<colony_core::id::DeploymentName> {
    match scope {
        HoldScope::Site => None,
        HoldScope::Deployment(id) => site.deployment(id).map(|it| it.name.clone()),
    }
}

fn summary(site: &Site, it: &Deployment, now: Now) -> DeploymentSummary {
    let view = deployment::view(site, it, now);
    let all: Vec<_> = outcome::placements(site, it).collect();
    let installed = all.iter().filter(|it| it.state() == PlacementState::Installed).count();
    DeploymentSummary {
        name: view.name,
        application: view.application,
        version: view.version,
        outcome: view.outcome,
        sentence: view.sentence,
        sites: 1,
        installed: installed as u64,
        placements: all.len() as u64,
    }
}

/// What does not go on by itself.
fn attention(site: &Site, now: Now) -> Vec<Attention> {
    let whole = why::site(site, now).into_iter().map(|it| (site.name().to_string(), it));
    let each = site.deployments().flat_map(|deployment| {
        let subject = format!("{}@{}", deployment.name, site.name());
        let answers = why::deployment_by_id(site, &deployment.id, now);
        answers.into_iter().map(move |it| (subject.clone(), it))
    });
    let stuck = |it: &(String, Why)| it.1.owner != Owner::Colony;
    let told =
        |(subject, it): (String, Why)| Attention { subject, sentence: it.to_string(), act: it.act };
    whole.chain(each).filter(stuck).map(told).collect()
}
