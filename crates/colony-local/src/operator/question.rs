//! Queries about the site, answered as a fleet of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use colony_api::render::{About, Context, SiteReport, Versions, blobs_of};
use colony_api::request::{EventQuery, LogsQuery};
use colony_api::server::{LogTarget, ReadApi, Scope};
use colony_api::site::LogAnswer;
use colony_api::view::Role;
use colony_core::document::FileFacts;
use colony_core::fleet::Fleet;
use colony_core::id::SiteName;
use colony_core::site::Site;
use colony_core::time::{Now, Timestamp};
use colony_core::why;
use colony_wfm::Refusal;

use super::{ApiState, Caller, event, log};
use crate::health::surroundings::surroundings;
use crate::problem;
use crate::uplink::nodes_report;

/// The state of the site at one moment.
struct Snapshot {
    fleet: Fleet,
    versions: Versions,
    labels: BTreeMap<SiteName, BTreeMap<String, String>>,
    now: Timestamp,
}

impl ReadApi for ApiState {
    type Caller = Caller;
    type Error = Refusal;

    fn may_view(&self, _: &Caller, _: &SiteName) -> Result<(), Refusal> {
        Ok(())
    }

    async fn fleet(&self) -> Result<Arc<Fleet>, Refusal> {
        let fleet = self.brain.read(|site, now| self.fleet_of(site, now)).await;
        Ok(fleet.map(Arc::new).map_err(problem::of_brain)?)
    }

    async fn look<T: Send>(
        &self,
        _: &Caller,
        _: Scope,
        render: impl FnOnce(&Fleet, &Context<'_>) -> T + Send,
    ) -> Result<T, Refusal> {
        let report = nodes_report(&self.brain, &self.health, &self.vitals, &self.about).await;
        let report = Arc::new(report.map_err(problem::of_brain)?);
        let taken = self.brain.read(|site, now| self.snapshot(site, now)).await;
        let mut taken = taken.map_err(problem::of_brain)?;
        self.add_former_versions(&mut taken).await;
        let report = |_: &SiteName| -> Option<SiteReport> { Some((taken.now, report.clone())) };
        let context = Context {
            now: taken.now,
            versions: &taken.versions,
            queued: &BTreeMap::new(),
            labels: &taken.labels,
            report: &report,
            strays: &[],
            gone: None,
            git_problem: None,
            sees: &|_| true,
        };
        Ok(render(&taken.fleet, &context))
    }

    /// A site is small: its lists are always sent.
    async fn list_version(&self) -> Option<String> {
        None
    }

    async fn about(&self) -> About {
        let readiness = self.health.readiness(&self.brain).await;
        let commit = self.brain.read(|site, _| site.git().cloned()).await;
        About {
            role: Role::Local,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            url: self.about.urls.first().cloned().unwrap_or_default(),
            ready: readiness.ready,
            reasons: readiness.reasons,
            commit: commit.ok().flatten(),
        }
    }

    async fn log(&self, target: LogTarget, query: LogsQuery) -> Result<LogAnswer, Refusal> {
        log::read(self, target, query).await
    }

    async fn events(
        &self,
        _: &Caller,
        query: EventQuery,
        headers: &HeaderMap,
    ) -> Result<Response, Refusal> {
        event::read(self, query, headers).await
    }
}

impl ApiState {
    /// Adds the versions of files that the site refers to but no longer holds.
    async fn add_former_versions(&self, snapshot: &mut Snapshot) {
        let mut named = blobs_of(&snapshot.fleet, snapshot.fleet.deployment_names());
        named.retain(|it| !snapshot.versions.contains_key(it));
        self.versions.read(named.clone()).await;
        for blob in named {
            if let Some(facts) = self.versions.known(&blob) {
                snapshot.versions.insert(blob, facts);
            }
        }
    }

    fn snapshot(&self, site: &Site, now: Now) -> Snapshot {
        let labels = (site.name().clone(), site.settings().labels.clone());
        Snapshot {
            fleet: self.fleet_of(site, now),
            versions: versions(site),
            labels: BTreeMap::from([labels]),
            now: now.wall,
        }
    }

    /// The site as a fleet of one, with the reasons for all that waits.
    fn fleet_of(&self, site: &Site, now: Now) -> Fleet {
        let mut view = site.view(now);
        let outside = surroundings(site, &self.health, &self.vitals);
        view.answers = why::answers(site, &outside, now).into();
        Fleet::of_site(site.name().clone(), view)
    }
}

fn versions(site: &Site) -> Versions {
    let documents = site.deployments().flat_map(|it| it.documents());
    documents.map(|it| (it.revision.blob.clone(), Arc::new(FileFacts::of(&it.spec)))).collect()
}
