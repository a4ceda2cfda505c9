//! Wake-ups after a step, and facts that are read without the site's lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use colony_core::event::Seq;
use colony_core::id::NodeName;
use colony_core::site::{Changed, Site};
use colony_core::time::Now;
use colony_core::why::{self, Cause, SiteCause};
use colony_process::Signal;

/// The signals that a step may send to other tasks.
#[derive(Debug)]
pub(crate) struct Notifiers {
    /// There are events to forward.
    pub(crate) events: Signal,
    /// The report about the nodes has to be sent to central.
    pub(crate) nodes: Signal,
    /// The Git task has to run: after an order, a hint or the seed.
    pub(crate) git: Signal,
    /// The number of the next event.
    head: watch::Sender<Seq>,
    roster: Mutex<KnownNodes>,
    /// Changes since the answers for central were last computed.
    changed: Mutex<Changed>,
    polls: Mutex<BTreeMap<NodeName, Arc<Notify>>>,
}

/// The nodes of the site and the versions of their manifests.
#[derive(Debug)]
struct KnownNodes {
    /// While false, the set of nodes is unknown, which does not mean empty.
    seeded: bool,
    nodes: BTreeSet<NodeName>,
    versions: BTreeMap<NodeName, u64>,
}

impl Notifiers {
    pub(super) fn new(site: &Site, now: Now) -> Notifiers {
        Notifiers {
            events: Signal::default(),
            nodes: Signal::default(),
            git: Signal::default(),
            head: watch::Sender::new(site.log().next),
            roster: Mutex::new(KnownNodes::of(site, now)),
            changed: Mutex::default(),
            polls: Mutex::default(),
        }
    }

    /// The site was restored: any manifest may differ.
    pub(super) fn reset(&self, site: &Site, now: Now) {
        *self.roster.lock() = KnownNodes::of(site, now);
        self.head.send_replace(site.log().next);
        self.all_nodes();
    }

    /// Wakes the tasks and polls that a step affects.
    pub(super) fn notify_after(&self, site: &Site, changed: &Changed, now: Now) {
        for node in self.moved(site, changed, now) {
            self.node(&node);
        }
        if !changed.site_nodes.is_empty() {
            self.nodes.wake();
        }
        let next = site.log().next;
        self.head.send_if_modified(|it| std::mem::replace(it, next) != next);
        if !changed.is_empty() {
            self.changed.lock().add(changed);
            self.events.wake();
        }
    }

    /// Returns the changes since the last call.
    pub(crate) fn take_changed(&self) -> Changed {
        std::mem::take(&mut self.changed.lock())
    }

    /// The nodes whose manifest has another version, or that are gone.
    fn moved(&self, site: &Site, changed: &Changed, now: Now) -> Vec<NodeName> {
        let mut roster = self.roster.lock();
        roster.seeded = roster.seeded || is_seeded(site, now);
        changed.nodes().iter().filter(|it| roster.follow(site, it)).cloned().collect()
    }

    /// Wakes the poll of a node.
    pub(crate) fn node(&self, node: &NodeName) {
        if let Some(poll) = self.polls.lock().get(node) {
            poll.notify_waiters();
        }
    }

    /// Ends every poll: the role stops, or the site was restored.
    pub(crate) fn all_nodes(&self) {
        self.polls.lock().values().for_each(|it| it.notify_waiters());
    }

    /// Resolves when the node should be answered. Only wake-ups after the first
    /// poll of this future count.
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

impl KnownNodes {
    fn of(site: &Site, now: Now) -> KnownNodes {
        let nodes = site.site_nodes().map(|it| it.name.clone()).collect();
        let versions = site.site_nodes().map(|it| (it.name.clone(), it.version())).collect();
        KnownNodes { seeded: is_seeded(site, now), nodes, versions }
    }

    /// Updates the entry of a node; true if its manifest changed or it has
    /// left.
    fn follow(&mut self, site: &Site, node: &NodeName) -> bool {
        let Some(site_node) = site.site_node(node) else {
            self.versions.remove(node);
            return self.nodes.remove(node);
        };
        self.nodes.insert(node.clone());
        self.versions.insert(node.clone(), site_node.version()) != Some(site_node.version())
    }
}

fn is_seeded(site: &Site, now: Now) -> bool {
    site.is_ready()
        || !why::site(site, now)
            .iter()
            .any(|it| matches!(it.cause, Cause::Site(SiteCause::SiteNotSeeded {})))
}
