//! Why something is not as it should be.

use axum::Json;
use axum::extract::{Path, State};

use colony_api::view::{ReasonView, WhyView};
use colony_core::id::SiteName;
use colony_core::why::{self, Subject, Why};
use colony_wfm::Refusal;

use super::{Desk, outcome};
use crate::problem;

pub(super) async fn site_why(
    State(desk): State<Desk>,
    Path(site): Path<String>,
) -> Result<Json<WhyView>, Refusal> {
    desk.own(&site)?;
    let answers = desk.brain.read(why::site).await.map_err(problem::denied)?;
    let reasons: Vec<ReasonView> = answers.iter().map(|it| reason(&desk.member.site, it)).collect();
    let summary = match reasons.is_empty() {
        true => format!("{site} is well"),
        false => format!("{site}: {} in the way", count(reasons.len())),
    };
    Ok(Json(WhyView { subject: site, summary, reasons }))
}

pub(super) async fn deployment_why(
    State(desk): State<Desk>,
    Path(name): Path<String>,
) -> Result<Json<WhyView>, Refusal> {
    let own = desk.member.site.clone();
    let subject = format!("{name}@{own}");
    let id = match desk.deployment_id(&name).await {
        Ok(id) => id,
        Err(unknown) => return unknown_why(&desk, &name, subject, unknown).await,
    };
    let look = desk.brain.read(|site, now| {
        let deployment = site.deployment(&id);
        let summary = deployment.map(|it| outcome::summary(site, it, now)).unwrap_or_default();
        (summary, why::deployment_by_id(site, &id, now))
    });
    let (summary, answers) = look.await.map_err(problem::denied)?;
    let reasons = answers.iter().map(|it| reason(&own, it)).collect();
    Ok(Json(WhyView { subject, summary, reasons }))
}

/// Its file may be refused, or in a commit that was not taken yet.
async fn unknown_why(
    desk: &Desk,
    name: &str,
    subject: String,
    unknown: colony_margo::Problem,
) -> Result<Json<WhyView>, Refusal> {
    let Ok(parsed) = name.parse() else { return Err(unknown.into()) };
    let answers = desk.brain.read(|site, now| why::deployment(site, &parsed, now)).await;
    let answers = answers.map_err(problem::denied)?;
    if answers.is_empty() {
        return Err(unknown.into());
    }
    let reasons = answers.iter().map(|it| reason(&desk.member.site, it)).collect();
    Ok(Json(WhyView { subject, summary: format!("{name} is not deployed here"), reasons }))
}

fn reason(site: &SiteName, why: &Why) -> ReasonView {
    let nodes = match &why.subject {
        Subject::Placement { nodes, .. } => nodes.iter().map(ToString::to_string).collect(),
        Subject::Node { node } => vec![node.to_string()],
        Subject::Site { .. } | Subject::Deployment { .. } => Vec::new(),
    };
    ReasonView {
        site: site.to_string(),
        nodes,
        sentence: why.to_string(),
        owner: why.owner.name().to_owned(),
        act: why.act.clone(),
        since: why.since,
        next: why.next.what.clone(),
        next_at: why.next.at,
    }
}

fn count(reasons: usize) -> String {
    match reasons {
        1 => "one thing is".to_owned(),
        many => format!("{many} things are"),
    }
}
