//! Reasons why a subject deviates from its desired state, as the API sends
//! them.

use serde_json::Value;

use colony_core::event::Presence;
use colony_core::fleet::{Fleet, SiteView};
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_core::margo::Problem;
use colony_core::time::HumanDuration;
use colony_core::why::{Cause, Subject, Why};

use super::{Context, command, deployment, unknown_deployment, unknown_node, unknown_site};
use crate::problem::Kind;
use crate::view::{CauseView, DeploymentSite, ReasonView, WhyView, status_text};

/// Why a deployment is not at its end, at one site or at all of them.
pub fn why_deployment(
    fleet: &Fleet,
    name: &DeploymentName,
    site: Option<&SiteName>,
    context: &Context<'_>,
) -> Result<WhyView, Problem> {
    let view = deployment(fleet, name, context)
        .ok_or_else(|| unknown_deployment(fleet, context.sees, name))?;
    if let Some(site) = site {
        fleet.site(site).ok_or_else(|| unknown_site(fleet, context.sees, site))?;
        if !view.sites.iter().any(|it| it.site == *site) {
            return Err(
                Kind::NotFound.problem(format!("deployment `{name}` is not at site {site}"))
            );
        }
    }
    let selected = view.sites.iter().filter(|it| site.is_none_or(|site| *site == it.site));
    let (mut reasons, mut parts) = (Vec::new(), Vec::new());
    for shown in selected {
        parts.push(summary(shown, site.is_none(), context));
        let whys = fleet.why(&shown.site, name, context.git_problem, context.now);
        reasons.extend(whys.unwrap_or_default().iter().map(|it| reason(&shown.site, it, context)));
    }
    let subject = site.map_or_else(|| name.to_string(), |site| format!("{name}@{site}"));
    Ok(WhyView { subject, summary: parts.join("; "), reasons })
}

/// All reasons of a site.
pub fn why_site(fleet: &Fleet, site: &SiteName, context: &Context<'_>) -> Result<WhyView, Problem> {
    let view = fleet.site(site).ok_or_else(|| unknown_site(fleet, context.sees, site))?;
    let reasons = site_reasons(fleet, site, context);
    let summary = site_summary(view, reasons.len(), context);
    Ok(WhyView { subject: site.to_string(), summary, reasons })
}

/// The reasons of a node, and of everything that is placed on it.
pub fn why_node(
    fleet: &Fleet,
    site: &SiteName,
    node: &NodeName,
    context: &Context<'_>,
) -> Result<WhyView, Problem> {
    let view = fleet.site(site).ok_or_else(|| unknown_site(fleet, context.sees, site))?;
    let known = view.nodes.get(node).ok_or_else(|| unknown_node(fleet, site, node))?;
    let mut reasons = site_reasons(fleet, site, context);
    reasons.retain(|it| it.nodes.is_empty() && it.deployment.is_none() || it.is_about(node));
    let placed = view.placements.values().filter(|it| it.contains_key(node)).count();
    let placed =
        if placed == 1 { "1 deployment".to_owned() } else { format!("{placed} deployments") };
    let presence = match view.silent_since(context.now) {
        Some(_) => "presence unknown (no contact with its site)",
        None if known.is_online() => "online",
        None => "not online",
    };
    let state =
        if reasons.is_empty() { "as it should be".to_owned() } else { counted(reasons.len()) };
    let summary = format!("{state}; {presence}; {placed}");
    Ok(WhyView { subject: format!("{site}/{node}"), summary, reasons })
}

impl ReasonView {
    fn is_about(&self, node: &NodeName) -> bool {
        self.nodes.iter().any(|it| it == node.as_str())
    }
}

/// All reasons of the fleet.
pub fn why_fleet(fleet: &Fleet, context: &Context<'_>) -> WhyView {
    let sites: Vec<&SiteName> =
        fleet.sites().map(|it| it.0).filter(|it| (context.sees)(it)).collect();
    let reasons: Vec<ReasonView> =
        sites.iter().flat_map(|it| site_reasons(fleet, it, context)).collect();
    let all = match sites.len() {
        1 => "1 site".to_owned(),
        many => format!("{many} sites"),
    };
    let summary = match reasons.len() {
        0 => format!("{all}: everything is as it should be"),
        _ => format!("{all}: {}", counted(reasons.len())),
    };
    let mut parts = vec![summary];
    parts.extend(context.git_problem.map(|it| format!("changes cannot be written to Git: {it}")));
    let strays = context.strays.len();
    parts.extend((strays > 0).then(|| format!("files in Git that no site reads: {strays}")));
    WhyView { subject: "fleet".to_owned(), summary: parts.join("; "), reasons }
}

fn site_reasons(fleet: &Fleet, site: &SiteName, context: &Context<'_>) -> Vec<ReasonView> {
    let whys = fleet.why_site(site, context.git_problem, context.now).unwrap_or_default();
    whys.iter().map(|it| reason(site, it, context)).collect()
}

fn site_summary(view: &SiteView, reasons: usize, context: &Context<'_>) -> String {
    let nodes = match view.silent_since(context.now) {
        Some(_) => {
            format!("{} nodes, presence unknown (no contact with the site)", view.nodes.len())
        }
        None => {
            let online = view.nodes.values().filter(|it| it.is_online()).count();
            format!("{online} of {} nodes online", view.nodes.len())
        }
    };
    let state = match reasons {
        0 => "as it should be".to_owned(),
        many => counted(many),
    };
    let deployments = match view.deployments.len() {
        1 => "1 deployment".to_owned(),
        many => format!("{many} deployments"),
    };
    format!("{state}; {nodes}; {deployments}")
}

fn counted(reasons: usize) -> String {
    match reasons {
        1 => "1 thing is not as it should be".to_owned(),
        many => format!("{many} things are not as they should be"),
    }
}

/// `INSTALLED 1.1; node b2 deferred: offline 3 h; catches up on return`.
fn summary(shown: &DeploymentSite, named: bool, context: &Context<'_>) -> String {
    let version = shown.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let site = if named { format!("{}: ", shown.site) } else { String::new() };
    let mut text = format!("{site}{}{version}", status_text(&shown.status));
    for it in &shown.placements {
        if let Some(deferred) = &it.deferred {
            let reason = &deferred.reason;
            text = format!("{text}; node {} deferred: {reason}; catches up on return", it.node);
        } else if let Some(failure) = &it.failure {
            let message = failure.message.lines().next().unwrap_or_default();
            text = format!("{text}; node {} {}: {} {message}", it.node, it.state, failure.code);
        } else if it.presence == Presence::Offline {
            let heard = it.last_heard.map(|at| HumanDuration(context.now.since(at)));
            let heard = heard.map(|it| format!(", last contact {it} ago")).unwrap_or_default();
            text = format!("{text}; node {} is offline{heard}", it.node);
        }
    }
    text
}

/// One reason as the API sends it: the cause by its published name with its
/// facts, and the same as a sentence.
pub(super) fn reason(site: &SiteName, why: &Why, context: &Context<'_>) -> ReasonView {
    let nodes = match &why.subject {
        Subject::Placement { nodes, .. } => nodes.iter().map(ToString::to_string).collect(),
        Subject::Node { node } => vec![node.to_string()],
        Subject::Site { .. } | Subject::Deployment { .. } => Vec::new(),
    };
    let CauseView { cause, facts } = cause(&why.cause);
    ReasonView {
        site: site.to_string(),
        deployment: command::deployment(&why.subject).map(ToString::to_string),
        nodes,
        cause,
        facts,
        also: why.also.iter().map(self::cause).collect(),
        sentence: why.statement(context.now),
        owner: why.owner.name().to_owned(),
        act: why.act.clone(),
        command: command::of(why, site),
        since: why.since,
        next: why.next.what.clone(),
        next_at: why.next.at,
    }
}

fn cause(cause: &Cause) -> CauseView {
    let mut facts = serde_json::to_value(cause).unwrap_or_default();
    if let Value::Object(fields) = &mut facts {
        fields.remove("name");
    }
    CauseView { cause: cause.name().to_owned(), facts }
}
