//! Why a node gets nothing, or is not heard.

use crate::event::Presence;
use crate::id::NodeName;
use crate::site::{Member, Site};
use crate::why::{Cause, NodeCause, Subject, Why};

/// The answer for one node; `None` if it is heard and open for everything.
pub fn node(site: &Site, node: &NodeName) -> Option<Why> {
    let member = site.member(node)?;
    let silent = presence(site, member);
    let cordoned =
        member.is_cordoned().then(|| Cause::Node(NodeCause::NodeCordoned { node: node.clone() }));
    let mute = member.capabilities().is_none() && member.presence() != Presence::Joined;
    let mute = mute.then(|| Cause::Node(NodeCause::NoCapabilities { node: node.clone() }));
    let causes = silent.into_iter().chain(cordoned).chain(mute).collect();
    Why::new(Subject::Node { node: node.clone() }, causes, "it gets its deployments")
}

fn presence(site: &Site, member: &Member) -> Option<Cause> {
    let node = member.name.clone();
    match member.presence() {
        Presence::Online => None,
        Presence::Suspect => suspect(site, member),
        Presence::Offline => {
            Some(Cause::Node(NodeCause::NodeOffline { node, last_heard: member.last_heard() }))
        }
        Presence::Joined => {
            Some(Cause::Node(NodeCause::NodeNeverHeard { node, joined: Some(member.joined) }))
        }
    }
}

pub(super) fn suspect(site: &Site, member: &Member) -> Option<Cause> {
    if member.presence() != Presence::Suspect {
        return None;
    }
    let last_heard = member.last_heard();
    let offline_at = last_heard.after(site.timing().lease);
    Some(Cause::Node(NodeCause::NodeSuspect { node: member.name.clone(), last_heard, offline_at }))
}
