//! What a change waits for: a node or a site that is offline, a hold, a window.

use crate::document::Document;
use crate::event::HoldScope;
use crate::fleet::{DeploymentView, SiteView};
use crate::id::NodeName;
use crate::plan::SiteSnapshot;
use crate::site::Hold;
use crate::time::{Spoken, Wall};

/// Why nothing can happen at a node now, if so.
pub(super) fn offline(view: &SiteView, node: Option<&NodeName>, now: Wall) -> Option<String> {
    if view.incarnation().is_none() {
        return Some("no orchestrator has joined the site yet".to_owned());
    }
    if let Some(since) = view.silent_since(now) {
        return Some(format!("the site has been offline for {}", Spoken(now.since(since))));
    }
    let node = view.nodes.get(node?)?;
    let since = Spoken(now.since(node.since));
    (!node.is_online()).then(|| format!("offline {since}"))
}

/// What holds every change of a deployment up, also a removal.
pub(super) fn hold(view: &SiteView, deployment: Option<&DeploymentView>) -> Option<String> {
    let text = |what: &str, it: &Hold| format!("{} holds {what}{}", it.by, noted(&it.note));
    if let Some(hold) = view.holds.holds.get(&HoldScope::Site) {
        return Some(text("the site", hold));
    }
    let deployment = deployment?;
    let hold = view.holds.holds.get(&HoldScope::Deployment(deployment.id.clone()))?;
    Some(text(deployment.name.as_str(), hold))
}

/// What holds a new attempt up.
pub(super) fn start(
    site: &SiteSnapshot,
    deployment: Option<&DeploymentView>,
    document: &Document,
    now: Wall,
) -> Option<String> {
    if let Some(opens) = site.settings.opens(now) {
        let wait = Spoken(opens.since(now));
        return Some(format!("the maintenance window opens in {wait}"));
    }
    // Another workload starts a rollout of its own, without pause or stop.
    let workload = document.revision.workload;
    let deployment = deployment.filter(|it| it.accepted.workload == workload)?;
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
