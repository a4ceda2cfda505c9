//! The state that all handlers and tasks share.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use colony_api::site::{GitAccess, LogAnswer, NodesReport, SiteLogRequest};
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_process::Signal;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::auth::Keys;
use crate::brain::Brain;
use crate::catalog::Registries;
use crate::clock;
use crate::command::force::PendingForcedDeletions;
use crate::command::relay::Relay;
use crate::fault::Fault;
use crate::health::metrics::Metrics;
use crate::identity::Identity;
use crate::link::authority::Authorities;
use crate::repo::Repo;

/// A sign of life of a site is only recorded if the last one is at least this
/// old.
const HEARD: Duration = Duration::from_secs(5);

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

/// The parts of this role.
#[derive(Debug)]
pub(crate) struct Shared {
    pub brain: Arc<Brain>,
    pub repo: Repo,
    /// Serves the repository, if this role hosts it.
    pub hosted: Option<colony_git::serve::Server>,
    pub identity: Identity,
    pub keys: Keys,
    pub authorities: Authorities,
    pub metrics: Arc<Metrics>,
    pub relay: Relay<SiteLogRequest, LogAnswer>,
    pub reports: Reports,
    pub forces: PendingForcedDeletions,
    /// Wakes the Git writer.
    pub writer: Signal,
    /// Held by the Git writer while it writes changes.
    pub writing: Arc<tokio::sync::Mutex<()>>,
    pub registries: Arc<Registries>,
    /// The URLs of this role; the first one is shown to people.
    pub urls: Vec<String>,
    pub git: GitAccess,
    pub data: PathBuf,
    /// Cancelled at shutdown: ends streams and long polls.
    pub stop: CancellationToken,
    /// One plan is made and queued at a time, so that the next one sees it.
    pub planning: tokio::sync::Mutex<()>,
}

impl App {
    pub(crate) fn new(shared: Shared) -> App {
        App(Arc::new(shared))
    }

    /// The URL that is shown to people.
    pub(crate) fn url(&self) -> &str {
        self.urls.first().map_or("", String::as_str)
    }

    /// Records a sign of life of a site, unless the last one is recent; does
    /// not wait for the store.
    pub(crate) async fn record_contact(
        &self,
        site: &SiteName,
        last: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        if last.is_some_and(|it| now.since(it) < HEARD && it <= now) {
            return Ok(());
        }
        self.brain.record_contact(site, last, now);
        Ok(())
    }
}

#[cfg(test)]
impl App {
    /// A role that does not serve yet, with the site `home`, where an
    /// orchestrator has joined.
    pub(crate) async fn with_home(dir: &std::path::Path) -> App {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let central = crate::start(crate::Config::new(dir.join("central"), listen)).await;
        let app = central.expect("it starts").app();
        let home: SiteName = "home".parse().expect("a name");
        let joined = app.brain.write(|fleet| {
            fleet.site_add(&home);
            fleet.join(&home, clock::wall(), false).map_err(|it| Fault::refused(it.to_string()))?;
            Ok::<_, Fault>(((), colony_store::Write::default()))
        });
        joined.await.expect("a site");
        app
    }
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// The last health report of each site, with its time of arrival.
#[derive(Debug)]
pub(crate) struct Reports {
    reports: Mutex<BTreeMap<SiteName, (Timestamp, Arc<NodesReport>)>>,
    generation: AtomicU64,
}

impl Reports {
    /// The generation starts at the current time, so that it differs between
    /// processes.
    pub(crate) fn new() -> Reports {
        Reports { reports: Mutex::default(), generation: AtomicU64::new(clock::wall().0) }
    }

    pub(crate) fn get(&self, site: &SiteName) -> Option<(Timestamp, Arc<NodesReport>)> {
        self.reports.lock().get(site).cloned()
    }

    /// Grows with every report.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Stores a report in memory; `true` if a part of it differs that is
    /// persisted.
    pub(crate) fn put(&self, site: &SiteName, at: Timestamp, report: NodesReport) -> bool {
        let mut reports = self.reports.lock();
        let kept = |it: &NodesReport| ageless(lasting(it.clone()));
        let same = reports.get(site).is_some_and(|it| kept(&it.1) == kept(&report));
        reports.insert(site.clone(), (at, Arc::new(report)));
        self.generation.fetch_add(1, Ordering::Relaxed);
        !same
    }
}

/// The part of a report that is persisted, without the momentary state of
/// nodes.
pub(crate) fn lasting(mut report: NodesReport) -> NodesReport {
    for node in &mut report.nodes {
        (node.ready, node.reasons, node.progress) = (None, Vec::new(), Vec::new());
    }
    report
}

fn ageless(mut report: NodesReport) -> NodesReport {
    report.nodes.iter_mut().for_each(|it| it.last_heard_ms_ago = None);
    report
}
