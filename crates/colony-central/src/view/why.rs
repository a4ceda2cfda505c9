//! Why something is not as it should be, as far as CO can tell.

use colony_api::view::{DeploymentSite, ReasonView, WhyView};
use colony_core::event::Presence;
use colony_core::fleet::{Fleet, FleetCause, LO_SILENT, Owner, Why};
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_core::time::{Spoken, Wall};

use super::{deployment, no_deployment, unknown_site};
use crate::app::App;
use crate::auth::Operator;
use crate::clock;
use crate::fault::Fault;

/// Why a deployment is not at its end, at one site or at all where it is.
pub(crate) async fn why(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    site: Option<&SiteName>,
) -> Result<WhyView, Fault> {
    let view = deployment(app, operator, name).await?;
    let fleet = app.brain.read().await?;
    if let Some(site) = site {
        fleet.site(site).ok_or_else(|| unknown_site(&fleet, site))?;
        if !view.sites.iter().any(|it| it.site == *site) {
            return Err(Fault::not_found(format!("deployment `{name}` is not at site {site}")));
        }
    }
    let (git, now) = (app.repo.problem(), clock::wall());
    let meant = view.sites.iter().filter(|it| site.is_none_or(|site| *site == it.site));
    let (mut reasons, mut parts) = (Vec::new(), Vec::new());
    for shown in meant {
        let found = causes(&fleet, (&shown.site, name), git.as_deref(), now);
        let Some(found) = found else { continue };
        parts.push(summary(shown, site.is_none(), now));
        reasons.extend(found.into_iter().map(|it| reason(&shown.site, it)));
    }
    if parts.is_empty() {
        return Err(no_deployment(&fleet, operator, name));
    }
    let subject = site.map_or_else(|| name.to_string(), |site| format!("{name}@{site}"));
    Ok(WhyView { subject, summary: parts.join("; "), reasons })
}

/// What the fleet knows; what waits for Git waits for what is wrong with it.
pub(super) fn causes(
    fleet: &Fleet,
    (site, name): (&SiteName, &DeploymentName),
    git: Option<&str>,
    now: Wall,
) -> Option<Vec<Why>> {
    let mut found = fleet.why(site, name, now)?;
    let Some(problem) = git else { return Some(found) };
    for it in found.iter_mut().filter(|it| matches!(it.cause, FleetCause::Planned { .. })) {
        it.owner = Owner::Operator;
        it.next = format!("Git does not work, and it is tried again by itself: {problem}");
    }
    Some(found)
}

/// `INSTALLED 1.1; node b2 deferred: offline 3 h; catches up on return`.
fn summary(shown: &DeploymentSite, named: bool, now: Wall) -> String {
    let version = shown.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let site = if named { format!("{}: ", shown.site) } else { String::new() };
    let mut text = format!("{site}{}{version}", shown.standing);
    for it in &shown.placements {
        if let Some(deferred) = &it.deferred {
            let reason = &deferred.reason;
            text = format!("{text}; node {} deferred: {reason}; catches up on return", it.node);
        } else if let Some(failure) = &it.failure {
            let said = failure.message.lines().next().unwrap_or_default();
            text = format!("{text}; node {} {}: {} {said}", it.node, it.state, failure.code);
        } else if it.presence == Presence::Offline {
            let heard =
                it.last_heard.map(|it| format!(", last heard {} ago", Spoken(now.since(it))));
            text = format!("{text}; node {} is offline{}", it.node, heard.unwrap_or_default());
        }
    }
    text
}

fn reason(site: &SiteName, why: Why) -> ReasonView {
    ReasonView {
        site: site.to_string(),
        nodes: node_of(&why.cause).map(ToString::to_string).into_iter().collect(),
        sentence: why.cause.to_string(),
        owner: why.owner.to_string(),
        act: why.act,
        since: why.since,
        next: why.next,
        next_at: why.next_at,
    }
}

fn node_of(cause: &FleetCause) -> Option<&NodeName> {
    match cause {
        FleetCause::RolloutStopped { node, .. }
        | FleetCause::NodeAway { node, .. }
        | FleetCause::Underway { node, .. }
        | FleetCause::Failed { node, .. }
        | FleetCause::RunningLost { node, .. }
        | FleetCause::Waiting { node }
        | FleetCause::Queued { node }
        | FleetCause::Rejected { node, .. }
        | FleetCause::Flagged { node, .. } => Some(node),
        FleetCause::Quarantined { node, .. } => node.as_ref(),
        FleetCause::NeverJoined { .. }
        | FleetCause::LoSilent { .. }
        | FleetCause::TakingOver { .. }
        | FleetCause::NotReady { .. }
        | FleetCause::Planned { .. }
        | FleetCause::Conflict { .. }
        | FleetCause::Refused { .. }
        | FleetCause::NotSeen { .. }
        | FleetCause::FileRefused { .. }
        | FleetCause::RemovalHeld { .. }
        | FleetCause::RolloutWaits { .. }
        | FleetCause::HistoryHeld { .. }
        | FleetCause::Held { .. }
        | FleetCause::NothingFits { .. }
        | FleetCause::AwaitsRevert { .. } => None,
    }
}

/// Why a site as a whole is not as it should be.
pub(crate) async fn why_site(app: &App, site: &SiteName) -> Result<WhyView, Fault> {
    let fleet = app.brain.read().await?;
    let view = fleet.site(site).ok_or_else(|| unknown_site(&fleet, site))?;
    let now = clock::wall();
    let mut reasons = whole(&fleet, site, now);
    for (path, findings) in &view.files {
        let first = findings.first().map(ToString::to_string).unwrap_or_default();
        let sentence = format!("the site refuses {path}: {first}");
        reasons.push(said(site, sentence, "author of the file", None, "correct it and commit"));
    }
    let relayed = app.reports.get(site).map(|it| it.1.reasons).unwrap_or_default();
    reasons.extend(relayed.into_iter().map(|it| said(site, it, "site engineer", None, "")));
    let online = view.nodes.values().filter(|it| it.is_online()).count();
    let summary = format!(
        "{}; {online} of {} nodes online; {} deployments",
        if reasons.is_empty() { "as it should be" } else { "not as it should be" },
        view.nodes.len(),
        view.deployments.len()
    );
    Ok(WhyView { subject: site.to_string(), summary, reasons })
}

fn whole(fleet: &Fleet, site: &SiteName, now: Wall) -> Vec<ReasonView> {
    let Some(view) = fleet.site(site) else { return Vec::new() };
    let mut reasons = Vec::new();
    let head = &view.head;
    if view.incarnation().is_none() {
        let next = format!("run what `colony site invite {site}` prints on the site's machine");
        let sentence = format!("no orchestrator has ever joined site {site}");
        reasons.push(said(site, sentence, "operator", None, &next));
        return reasons;
    }
    if let Some(heard) = head.last_heard.filter(|it| now.since(*it) >= LO_SILENT) {
        let sentence = format!("the site is not heard for {}", Spoken(now.since(heard)));
        let next = "check its power and line; it goes on by itself and reports when it is back";
        reasons.push(said(site, sentence, "site engineer", Some(heard), next));
    }
    if !head.ready {
        let sentence = "its orchestrator has joined but not read Git yet".to_owned();
        let next = "it serves its nodes as soon as it has";
        reasons.push(said(site, sentence, "local orchestrator", head.joined, next));
    }
    for hold in view.holds.holds.values() {
        let sentence = format!("{} holds changes: {}", hold.by, hold.note);
        let next = "a release lets them go on";
        reasons.push(said(site, sentence, "site engineer", Some(hold.since), next));
    }
    if let Some(it) = &view.holds.removal {
        let (commit, count) = (it.commit.short(), it.deployments.len());
        let sentence = format!("commit {commit} removes {count} deployments at once and is held");
        let next = "release the removal, or put the files back";
        reasons.push(said(site, sentence, "operator", Some(it.since), next));
    }
    if let Some(it) = &view.holds.history {
        let sentence = format!("Git's history was rewritten at {} and is held", it.commit.short());
        reasons.push(said(site, sentence, "operator", Some(it.since), "accept it or restore"));
    }
    reasons
}

fn said(
    site: &SiteName,
    sentence: String,
    owner: &str,
    since: Option<Wall>,
    next: &str,
) -> ReasonView {
    ReasonView {
        site: site.to_string(),
        nodes: Vec::new(),
        sentence,
        owner: owner.to_owned(),
        act: None,
        since,
        next: next.to_owned(),
        next_at: None,
    }
}
