//! What a change waits for: a node or a site that is offline, a hold, a window, a delay.

use crate::document::Document;
use crate::event::HoldScope;
use crate::fleet::{DeploymentView, SiteView};
use crate::id::NodeName;
use crate::plan::SiteSnapshot;
use crate::site::Hold;
use crate::time::{HumanDuration, Timestamp};

/// Why nothing can happen at a node now, if so.
pub(super) fn offline(view: &SiteView, node: Option<&NodeName>, now: Timestamp) -> Option<String> {
    if view.incarnation().is_none() {
        return Some("no orchestrator has joined the site yet".to_owned());
    }
    if let Some(since) = view.silent_since(now) {
        return Some(format!("the site has been offline for {}", HumanDuration(now.since(since))));
    }
    let (name, node) = (node?, view.nodes.get(node?)?);
    let since = view.node_last_heard(name).unwrap_or(node.since);
    (!node.is_online()).then(|| format!("offline {}", HumanDuration(now.since(since))))
}

/// The hold that blocks every change of a deployment, removals included.
pub(super) fn hold(view: &SiteView, deployment: Option<&DeploymentView>) -> Option<String> {
    let text = |what: &str, it: &Hold| format!("{} holds {what}{}", it.by, noted(&it.note));
    let site = view.holds.holds.get(&HoldScope::Site).map(|it| text("the site", it));
    let own = deployment.and_then(|deployment| {
        let hold = view.holds.holds.get(&HoldScope::Deployment(deployment.id.clone()))?;
        Some(text(deployment.name.as_str(), hold))
    });
    match (site, own) {
        (Some(site), Some(own)) => Some(format!("{site}, and {own}")),
        (site, own) => site.or(own),
    }
}

/// What delays the start of an attempt.
pub(super) fn start(
    site: &SiteSnapshot,
    deployment: Option<&DeploymentView>,
    document: &Document,
    now: Timestamp,
) -> Option<String> {
    let workload = document.revision.workload;
    let known = deployment.filter(|it| it.accepted.workload == workload);
    // The site accepts another workload when it sees the commit.
    let taken = known.map_or(now, |it| it.since);
    if let Some(reason) = site.settings.too_early(&document.settings, taken, now) {
        let starts =
            reason.until().map(|it| format!("; it starts in {}", HumanDuration(it.since(now))));
        return Some(format!("{reason}{}", starts.unwrap_or_default()));
    }
    // Another workload starts a rollout of its own, without pause or stop.
    let deployment = known?;
    let paused = deployment.rollout.as_ref().and_then(|it| it.paused.as_ref());
    if let Some(hold) = paused {
        return Some(format!("{} paused the rollout{}", hold.by, noted(&hold.note)));
    }
    let stopped = deployment.stopped.as_ref()?;
    let (node, code) = (&stopped.node, &stopped.failure.code);
    Some(format!("the rollout stopped when node {node} failed with {code}"))
}

fn noted(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(" ({note})") }
}
