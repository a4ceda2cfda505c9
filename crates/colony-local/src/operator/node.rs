//! The nodes of the site.

use axum::Json;
use axum::extract::{Path, State};

use colony_api::view::{NodePlacement, NodeView};
use colony_core::event::Presence;
use colony_core::id::PlacementId;
use colony_core::site::{Member, Site};
use colony_core::time::Now;
use colony_core::why;
use colony_wfm::Refusal;

use super::{Desk, outcome};
use crate::problem;
use crate::uplink::engine;
use crate::vitals::Vitals;

pub(super) async fn node_list(State(desk): State<Desk>) -> Result<Json<Vec<NodeView>>, Refusal> {
    let vitals = &desk.vitals;
    let all =
        |site: &Site, now: Now| site.members().map(|it| view(site, it, vitals, now)).collect();
    Ok(Json(desk.brain.read(all).await.map_err(problem::denied)?))
}

pub(super) async fn node_show(
    State(desk): State<Desk>,
    Path((site, node)): Path<(String, String)>,
) -> Result<Json<NodeView>, Refusal> {
    desk.own(&site)?;
    let name = desk.node_named(&node)?;
    let one =
        |site: &Site, now: Now| site.member(&name).map(|it| view(site, it, &desk.vitals, now));
    let found = desk.brain.read(one).await.map_err(problem::denied)?;
    let gone = || colony_api::problem::Kind::NotFound.problem(format!("`{node}` has just left"));
    Ok(Json(found.ok_or_else(gone)?))
}

fn view(site: &Site, member: &Member, vitals: &Vitals, now: Now) -> NodeView {
    let heard = member.presence() != Presence::Joined;
    let (ready, said) = vitals.readiness(site, &member.name);
    let reasons = why::node(site, &member.name, now).map(|it| it.to_string());
    let labels = member.capabilities().map(|it| it.labels()).into_iter().flatten();
    let label = |(key, value): (&String, &serde_json::Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (key.clone(), text)
    };
    NodeView {
        site: site.name().clone(),
        name: member.name.clone(),
        presence: member.presence(),
        since: if heard { member.last_heard() } else { member.joined },
        last_heard: heard.then(|| member.last_heard()),
        cordoned: member.is_cordoned(),
        ready,
        reasons: reasons.into_iter().chain(said).collect(),
        engine: engine(member),
        labels: labels.map(label).collect(),
        capabilities: member.capabilities().and_then(|it| serde_json::to_value(it).ok()),
        placements: placements(site, member),
    }
}

fn placements(site: &Site, member: &Member) -> Vec<NodePlacement> {
    let one = |it: &colony_core::site::Deployment| {
        let id = PlacementId { deployment: it.id.clone(), node: member.name.clone() };
        let placement = site.placement(&id)?;
        let target = placement.revisions.target.as_ref();
        Some(NodePlacement {
            deployment: it.name.clone(),
            state: placement.state(),
            version: target.and_then(|revision| outcome::version_of(it, revision)),
            since: placement.since,
        })
    };
    site.deployments().filter_map(one).collect()
}
