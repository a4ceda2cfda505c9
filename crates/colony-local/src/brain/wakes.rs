//! Who has to look again after a step, and what can be asked without waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use colony_core::event::Seq;
use colony_core::id::NodeName;
use colony_core::site::{Changed, Site};
use colony_core::time::Now;
use colony_core::why::{self, Cause, SiteCause};
use colony_task::Signal;

/// The wake-ups a step gives.
#[derive(Debug)]
pub(crate) struct Wakes {
    /// There are events to forward.
    pub(crate) events: Signal,
    /// There is something to tell CO of the nodes.
    pub(crate) nodes: Signal,
    /// Git has to be looked at: an operator spoke, or the site was seeded.
    pub(crate) git: Signal,
    /// The number of the next event.
    head: watch::Sender<Seq>,
    roster: Mutex<Roster>,
    /// What has changed since the answers for CO were last computed.
    changed: Mutex<Changed>,
    polls: Mutex<BTreeMap<NodeName, Arc<Notify>>>,
}

/// Who belongs to the site.
#[derive(Debug)]
struct Roster {
    /// Until then nobody is known, which does not mean that there is nobody.
    seeded: bool,
    nodes: BTreeSet<NodeName>,
    versions: BTreeMap<NodeName, u64>,
}

impl Wakes {
    pub(super) fn new(site: &Site, now: Now) -> Wakes {
        Wakes {
            events: Signal::default(),
            nodes: Signal::default(),
            git: Signal::default(),
            head: watch::Sender::new(site.log().next),
            roster: Mutex::new(Roster::of(site, now)),
            changed: Mutex::default(),
            polls: Mutex::default(),
        }
    }

    /// The site was put together again: anything may differ.
    pub(super) fn reset(&self, site: &Site, now: Now) {
        *self.roster.lock() = Roster::of(site, now);
        self.head.send_replace(site.log().next);
        self.all_nodes();
    }

    /// Wakes whoever a step concerns.
    pub(super) fn after(&self, site: &Site, changed: &Changed, now: Now) {
        for node in self.moved(site, changed, now) {
            self.node(&node);
        }
        if !changed.members.is_empty() {
            self.nodes.wake();
        }
        let next = site.log().next;
        self.head.send_if_modified(|it| std::mem::replace(it, next) != next);
        if !changed.is_empty() {
            self.changed.lock().add(changed);
            self.events.wake();
        }
    }

    /// What has changed since this was last asked.
    pub(crate) fn take_changed(&self) -> Changed {
        std::mem::take(&mut self.changed.lock())
    }

    /// The nodes whose manifest has another version, or that are gone.
    fn moved(&self, site: &Site, changed: &Changed, now: Now) -> Vec<NodeName> {
        let mut roster = self.roster.lock();
        roster.seeded = roster.seeded || is_seeded(site, now);
        changed.nodes().iter().filter(|it| roster.follow(site, it)).cloned().collect()
    }

    /// There is something new for a node that polls.
    pub(crate) fn node(&self, node: &NodeName) {
        if let Some(poll) = self.polls.lock().get(node) {
            poll.notify_waiters();
        }
    }

    /// Ends every poll, because the role ends.
    pub(crate) fn all_nodes(&self) {
        self.polls.lock().values().for_each(|it| it.notify_waiters());
    }

    /// Resolves when the node should be answered; counts from the first poll on.
    pub(crate) async fn node_changed(&self, node: &NodeName) {
        let poll = Arc::clone(self.polls.lock().entry(node.clone()).or_default());
        poll.notified().await;
    }

    pub(crate) fn head(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    pub(crate) fn is_seeded(&self) -> bool {
        self.roster.lock().seeded
    }

    pub(crate) fn has(&self, node: &NodeName) -> bool {
        self.roster.lock().nodes.contains(node)
    }
}

impl Roster {
    fn of(site: &Site, now: Now) -> Roster {
        let nodes = site.members().map(|it| it.name.clone()).collect();
        let versions = site.members().map(|it| (it.name.clone(), it.version())).collect();
        Roster { seeded: is_seeded(site, now), nodes, versions }
    }

    /// Whether the node has another manifest than before.
    fn follow(&mut self, site: &Site, node: &NodeName) -> bool {
        let Some(member) = site.member(node) else {
            self.versions.remove(node);
            return self.nodes.remove(node);
        };
        self.nodes.insert(node.clone());
        self.versions.insert(node.clone(), member.version()) != Some(member.version())
    }
}

fn is_seeded(site: &Site, now: Now) -> bool {
    site.is_ready()
        || !why::site(site, now)
            .iter()
            .any(|it| matches!(it.cause, Cause::Site(SiteCause::SiteNotSeeded {})))
}
