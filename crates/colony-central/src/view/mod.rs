//! The central orchestrator's part of every view: a snapshot of the fleet and
//! the inputs beside it. The views themselves are built by
//! `colony_api::render`.

mod event;
mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use axum::http::HeaderMap;
use axum::response::Response;
use colony_api::render::{self, About, Context, SiteReport, Versions};
use colony_api::request::{EventQuery, LogsQuery};
use colony_api::server::{LogTarget, ReadApi, Scope};
use colony_api::site::LogAnswer;
use colony_api::view::{DeploymentView, Role};
use colony_core::document::FileFacts;
use colony_core::fleet::{Fleet, SitePresence};
use colony_core::id::{DeploymentName, SiteName};
use colony_store::Change;

pub(crate) use event::events;
pub(crate) use history::history;

use crate::api::{event as event_log, logs};
use crate::app::App;
use crate::auth::{Operator, Role as TokenRole};
use crate::brain::Snapshot;
use crate::fault::Fault;
use crate::repo::{Labels, path};
use crate::{clock, health};

impl ReadApi for App {
    type Caller = Operator;
    type Error = Fault;

    fn may_view(&self, caller: &Operator, site: &SiteName) -> Result<(), Fault> {
        caller.require_role(TokenRole::Viewer, site)
    }

    async fn fleet(&self) -> Result<Snapshot, Fault> {
        Ok(self.brain.read().await?)
    }

    async fn look<T: Send>(
        &self,
        caller: &Operator,
        scope: Scope,
        render: impl FnOnce(&Fleet, &Context<'_>) -> T + Send,
    ) -> Result<T, Fault> {
        let mut beside = ViewInputs::read(self, &scope).await?;
        if matches!(scope, Scope::Status) && caller.sees_all() {
            beside.strays = strays(self).await?;
        }
        let fleet = self.brain.read().await?;
        let report = |site: &SiteName| self.reports.get(site);
        let sees = |site: &SiteName| caller.sees(site);
        Ok(render(&fleet, &beside.context(&report, &sees)))
    }

    /// Depends on the stored events, the reports of sites, the head of Git, and
    /// which sites are silent.
    async fn list_version(&self) -> Option<String> {
        let (fleet, now) = (self.brain.read().await.ok()?, clock::wall());
        let mut silent = DefaultHasher::new();
        let sites = fleet.sites().filter(|it| it.1.presence(now) == SitePresence::Offline);
        sites.for_each(|it| it.0.as_str().hash(&mut silent));
        let (position, reports) = (*self.brain.head().borrow(), self.reports.generation());
        let git = self.repo.head().borrow().as_ref().map(ToString::to_string).unwrap_or_default();
        let position = event_id(self, position);
        Some(format!("{position}-{reports}-{git}-{:x}", silent.finish()))
    }

    async fn about(&self) -> About {
        let reasons = health::reasons(self).await;
        About {
            role: Role::Central,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            url: self.url().to_owned(),
            ready: reasons.is_empty(),
            reasons,
            commit: self.repo.head().borrow().clone(),
        }
    }

    async fn log(&self, target: LogTarget, query: LogsQuery) -> Result<LogAnswer, Fault> {
        logs::read(self, target, query).await
    }

    async fn events(
        &self,
        caller: &Operator,
        query: EventQuery,
        headers: &HeaderMap,
    ) -> Result<Response, Fault> {
        event_log::read(self, caller, query, headers).await
    }
}

/// The inputs of views beside the fleet.
struct ViewInputs {
    versions: Versions,
    queued: BTreeMap<String, FileFacts>,
    labels: Labels,
    strays: Vec<String>,
    gone: Option<String>,
    git_problem: Option<String>,
}

impl ViewInputs {
    async fn read(app: &App, scope: &Scope) -> Result<ViewInputs, Fault> {
        let (blobs, gone) = {
            let fleet = app.brain.read().await?;
            match scope {
                Scope::Fleet | Scope::Status => {
                    (render::blobs_of(&fleet, fleet.deployment_names()), None)
                }
                Scope::Deployment(name) => {
                    let there = fleet.sites_of(name).next().is_some();
                    let gone = (!there).then(|| archived_paths(&fleet, name));
                    (render::blobs_of(&fleet, [name].into_iter()), gone)
                }
            }
        };
        let gone = match gone.into_iter().flatten().next() {
            Some(path) => last_application(app, path).await?,
            None => None,
        };
        Ok(ViewInputs {
            versions: app.repo.facts(blobs).await?,
            queued: queued(&app.brain.store().changes_open().await?),
            labels: app.repo.site_labels().await?,
            strays: Vec::new(),
            gone,
            git_problem: app.repo.problem(),
        })
    }

    fn context<'a>(
        &'a self,
        report: &'a (dyn Fn(&SiteName) -> Option<SiteReport> + Sync),
        sees: &'a (dyn Fn(&SiteName) -> bool + Sync),
    ) -> Context<'a> {
        Context {
            now: clock::wall(),
            versions: &self.versions,
            queued: &self.queued,
            labels: &self.labels,
            report,
            strays: &self.strays,
            gone: self.gone.as_deref(),
            git_problem: self.git_problem.as_deref(),
            sees,
        }
    }
}

/// Files of deployments that no site reads.
async fn strays(app: &App) -> Result<Vec<String>, Fault> {
    let known: BTreeSet<String> =
        app.brain.read().await?.sites().map(|it| it.0.to_string()).collect();
    let found = app.repo.call("look for strays", move |git| git.strays(&known)).await;
    // The status reports elsewhere that Git does not respond.
    Ok(found.unwrap_or_default())
}

fn queued(open: &[Change]) -> BTreeMap<String, FileFacts> {
    let edits = open.iter().flat_map(|it| &it.edits);
    let facts = edits.filter_map(|it| Some((it.path.clone(), FileFacts::read(it.text.as_ref()?)?)));
    facts.collect()
}

/// The paths of a deleted deployment's files, at every site that had it.
fn archived_paths(fleet: &Fleet, name: &DeploymentName) -> Vec<String> {
    let was_here = |view: &colony_core::fleet::SiteView| {
        view.archives.values().any(|it| it.name.as_ref() == Some(name))
    };
    fleet.sites().filter(|it| was_here(it.1)).map(|it| path(it.0, name)).collect()
}

/// The application of a deleted deployment, from Git's history.
async fn last_application(app: &App, path: String) -> Result<Option<String>, Fault> {
    let history = app.repo.call("read the history", move |git| git.history(&path, 10)).await?;
    let blob = history.into_iter().find_map(|it| it.blob);
    let facts = app.repo.facts(blob.clone().into_iter().collect()).await?;
    Ok(blob.and_then(|it| facts.get(&it).map(|it| it.application.clone())))
}

/// The id of an event in streams.
pub(crate) fn event_id(app: &App, position: i64) -> String {
    format!("{}-{position}", app.brain.store().epoch())
}

/// One deployment, also a deleted one.
#[expect(clippy::result_large_err, reason = "a problem is an answer, made once for each request")]
pub(crate) async fn deployment(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<DeploymentView, Fault> {
    let render = |fleet: &Fleet, context: &Context<'_>| {
        let view = render::deployment(fleet, name, context);
        view.ok_or_else(|| render::unknown_deployment(fleet, context.sees, name))
    };
    Ok(app.look(operator, Scope::Deployment(name.clone()), render).await??)
}

/// Refuses a site that does not exist.
pub(crate) async fn site_exists(
    app: &App,
    operator: &Operator,
    site: &SiteName,
) -> Result<(), Fault> {
    let fleet = app.brain.read().await?;
    fleet.site(site).map(|_| ()).ok_or_else(|| no_site(&fleet, operator, site))
}

/// Names only sites that the operator may see.
fn no_site(fleet: &Fleet, operator: &Operator, site: &SiteName) -> Fault {
    render::unknown_site(fleet, &|site| operator.sees(site), site).into()
}

/// Names only deployments at sites that the operator may see.
pub(crate) fn no_deployment(fleet: &Fleet, operator: &Operator, name: &DeploymentName) -> Fault {
    render::unknown_deployment(fleet, &|site| operator.sees(site), name).into()
}
