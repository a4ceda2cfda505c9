//! Why a node gets no deployments, or is offline.

use crate::event::Presence;
use crate::id::NodeName;
use crate::site::{Placement, Site, SiteNode};
use crate::why::{Cause, NodeCause, Subject, Why};

/// The answer for one node; `None` if it is online and not cordoned.
pub fn node(site: &Site, node: &NodeName) -> Option<Why> {
    let site_node = site.site_node(node)?;
    let silent = presence(site, site_node);
    let cordoned = site_node
        .is_cordoned()
        .then(|| Cause::Node(NodeCause::NodeCordoned { node: node.clone() }));
    let mute = site_node.capabilities().is_none() && site_node.presence() != Presence::Joined;
    let mute = mute.then(|| Cause::Node(NodeCause::NoCapabilities { node: node.clone() }));
    let causes = silent.into_iter().chain(cordoned).chain(mute).collect();
    Why::new(Subject::Node { node: node.clone() }, causes, next(site, site_node))
}

/// What happens when the node is back.
fn next(site: &Site, site_node: &SiteNode) -> &'static str {
    if site_node.presence() == Presence::Joined {
        return "it gets its deployments";
    }
    let waits = |it: &Placement| !it.state().is_final() || site.outlook(it).trigger.is_some();
    let placed = site.placed_on(&site_node.name);
    match placed.iter().filter_map(|it| site.placement(it)).any(waits) {
        true => "what waits for it goes on",
        false => "it reports its state",
    }
}

fn presence(site: &Site, site_node: &SiteNode) -> Option<Cause> {
    let node = site_node.name.clone();
    match site_node.presence() {
        Presence::Online => None,
        Presence::Suspect => suspect(site, site_node),
        Presence::Offline => {
            Some(Cause::Node(NodeCause::NodeOffline { node, last_heard: site_node.last_heard() }))
        }
        Presence::Joined => {
            Some(Cause::Node(NodeCause::NodeNeverHeard { node, joined: Some(site_node.joined) }))
        }
    }
}

pub(super) fn suspect(site: &Site, site_node: &SiteNode) -> Option<Cause> {
    if site_node.presence() != Presence::Suspect {
        return None;
    }
    let last_heard = site_node.last_heard();
    let offline_at = last_heard.after(site.timing().lease);
    Some(Cause::Node(NodeCause::NodeSuspect {
        node: site_node.name.clone(),
        last_heard,
        offline_at,
    }))
}
