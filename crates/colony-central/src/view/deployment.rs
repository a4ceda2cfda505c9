//! A deployment over its sites, and its history in Git.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use colony_api::view::{DeploymentSite, DeploymentView, HistoryEntry, HistoryView, Outcome};
use colony_core::fleet::{Fleet, SiteView};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::time::Wall;
use colony_store::Change;

use super::told::Told;
use super::{Versions, no_deployment, outcome, sentence, version_of, versions};
use crate::app::App;
use crate::auth::Operator;
use crate::clock;
use crate::fault::Fault;
use crate::repo::{Facts, Origins, path};

/// How many commits of a file are shown.
const HISTORY: usize = 100;

/// Every deployment that is somewhere, or is to be.
pub(crate) async fn deployments(
    app: &App,
    operator: &Operator,
) -> Result<Vec<DeploymentView>, Fault> {
    let names: Vec<DeploymentName> = app.brain.read().await?.deployment_names().cloned().collect();
    let known = known(app, operator, &names).await?;
    let fleet = app.brain.read().await?;
    let shown = names.iter().filter_map(|it| build(&fleet, it, &known));
    Ok(shown.map(|it| with_pulls(app, it)).collect())
}

/// One deployment, also one that is gone.
pub(crate) async fn deployment(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<DeploymentView, Fault> {
    let mut known = known(app, operator, std::slice::from_ref(name)).await?;
    let gone = {
        let fleet = app.brain.read().await?;
        fleet.sites_of(name).next().is_none()
    };
    if gone {
        known.application = last_application(app, name).await?;
    }
    let fleet = app.brain.read().await?;
    let shown = build(&fleet, name, &known).map(|it| with_pulls(app, it));
    shown.ok_or_else(|| no_deployment(&fleet, operator, name))
}

/// How far images are is no event: the site's last report says it.
fn with_pulls(app: &App, mut view: DeploymentView) -> DeploymentView {
    for at in view.sites.iter_mut().filter(|it| it.silent_since.is_none()) {
        let Some(id) = &at.id else { continue };
        for it in at.placements.iter_mut().filter(|it| it.state.is_in_flight()) {
            it.progress = app.reports.pull(&at.site, &it.node, id).map(|it| it.to_string());
        }
    }
    view
}

/// What is needed beside the fleet.
struct Known {
    /// Nothing is shown of sites the token is not for.
    operator: Operator,
    versions: Versions,
    origins: Arc<Origins>,
    /// What waits for Git, by path.
    queued: BTreeMap<String, Facts>,
    /// Of what is gone.
    application: Option<String>,
    /// Why Git does not work, if it does not.
    git: Option<String>,
    now: Wall,
}

async fn known(app: &App, operator: &Operator, names: &[DeploymentName]) -> Result<Known, Fault> {
    let versions = versions(app, names).await?;
    let open = app.brain.store().changes_open().await?;
    Ok(Known {
        operator: operator.clone(),
        versions,
        origins: app.repo.origins(),
        queued: queued(&open),
        application: None,
        git: app.repo.problem(),
        now: clock::wall(),
    })
}

fn queued(open: &[Change]) -> BTreeMap<String, Facts> {
    let edits = open.iter().flat_map(|it| &it.edits);
    let facts = edits.filter_map(|it| Some((it.path.clone(), Facts::read(it.text.as_ref()?)?)));
    facts.collect()
}

fn build(fleet: &Fleet, name: &DeploymentName, known: &Known) -> Option<DeploymentView> {
    let seen = |site: &SiteName| known.operator.sees(site);
    let live: Vec<(&SiteName, &SiteView)> = fleet.sites_of(name).filter(|it| seen(it.0)).collect();
    let leaving = live.iter().all(|(_, view)| view.deployments_named(name).all(|it| it.withdrawn));
    let mut sites: Vec<(DeploymentSite, Outcome)> =
        live.iter().map(|(site, view)| one(fleet, (site, view), name, known)).collect();
    if leaving {
        let there: BTreeSet<&SiteName> = live.iter().map(|it| it.0).collect();
        let gone = fleet.sites().filter(|it| seen(it.0) && !there.contains(it.0));
        sites.extend(gone.filter_map(|(site, view)| archived(site, view, name)));
    }
    if sites.is_empty() {
        return None;
    }
    let outcomes: Vec<Outcome> = sites.iter().map(|it| it.1).collect();
    let sites: Vec<DeploymentSite> = sites.into_iter().map(|it| it.0).collect();
    let outcome = outcome::overall(&outcomes);
    let view = DeploymentView {
        name: name.clone(),
        application: application(&live, name, known),
        version: agreed(&sites),
        outcome,
        sentence: String::new(),
        sites,
    };
    Some(DeploymentView { sentence: sentence::deployment(&view), ..view })
}

fn one(
    fleet: &Fleet,
    (site, view): (&SiteName, &SiteView),
    name: &DeploymentName,
    known: &Known,
) -> (DeploymentSite, Outcome) {
    let (versions, origins) = (&known.versions, known.origins.as_ref());
    let told = Told { fleet, site, view, name, versions, origins, now: known.now };
    let queued = known.queued.get(&path(site, name));
    let mut shown = told.site(queued);
    let outcome = outcome::of_site(site, view, name, known.now);
    if outcome != Outcome::Installed {
        shown.why = told.why(known.git.as_deref());
    }
    (shown, outcome)
}

/// A site where nothing is left of it.
fn archived(
    site: &SiteName,
    view: &SiteView,
    name: &DeploymentName,
) -> Option<(DeploymentSite, Outcome)> {
    let mine: Vec<_> = view.archives.values().filter(|it| it.name.as_ref() == Some(name)).collect();
    let last = mine.iter().max_by_key(|it| it.last)?;
    let shown = DeploymentSite {
        site: site.clone(),
        id: None,
        standing: "GONE".to_owned(),
        since: last.last,
        version: None,
        commit: None,
        silent_since: None,
        placements: Vec::new(),
        quarantine: Vec::new(),
        rolled_back: None,
        stopped: None,
        rollout: None,
        hold: None,
        conflict: None,
        findings: Vec::new(),
        deleted: last.deleted,
        unconfirmed: last.unconfirmed,
        why: Vec::new(),
    };
    Some((shown, Outcome::Deleted))
}

fn application(live: &[(&SiteName, &SiteView)], name: &DeploymentName, known: &Known) -> String {
    let queued = live.iter().find_map(|(site, _)| known.queued.get(&path(site, name)));
    let told = live.iter().find_map(|(_, view)| {
        let wanted = view.targets.get(name).and_then(super::target_blob);
        let accepted = view.deployment_named(name).map(|it| &it.accepted.blob);
        known.versions.get(wanted.or(accepted)?)
    });
    let application = queued.or(told.map(|it| &**it)).map(|it| it.application.clone());
    application.or_else(|| known.application.clone()).unwrap_or_default()
}

fn agreed(sites: &[DeploymentSite]) -> Option<String> {
    let mut versions = sites.iter().filter(|it| it.standing != "GONE").map(|it| &it.version);
    let first = versions.next()?.clone();
    versions.all(|it| *it == first).then_some(first)?
}

/// The application of a deployment that is gone, from Git's memory.
async fn last_application(app: &App, name: &DeploymentName) -> Result<Option<String>, Fault> {
    let paths: Vec<String> = {
        let fleet = app.brain.read().await?;
        let mine = fleet
            .sites()
            .filter(|(_, view)| view.archives.values().any(|it| it.name.as_ref() == Some(name)));
        mine.map(|it| path(it.0, name)).collect()
    };
    let Some(path) = paths.into_iter().next() else { return Ok(None) };
    let history = app.repo.call("read the history", move |git| git.history(&path, 10)).await?;
    let blob = history.into_iter().find_map(|it| it.blob);
    let facts = app.repo.facts(blob.clone().into_iter().collect()).await?;
    Ok(blob.and_then(|it| facts.get(&it).map(|it| it.application.clone())))
}

/// The commits of a deployment, the newest first.
pub(crate) async fn history(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<HistoryView, Fault> {
    let sites: Vec<SiteName> = {
        let fleet = app.brain.read().await?;
        fleet.sites().map(|it| it.0.clone()).filter(|it| operator.sees(it)).collect()
    };
    let handle = name.clone();
    let commits = app
        .repo
        .call("read the history", move |git| {
            let mut commits = Vec::new();
            for site in sites {
                let found = git.history(&path(&site, &handle), HISTORY)?;
                commits.extend(found.into_iter().map(|it| (site.clone(), it)));
            }
            Ok(commits)
        })
        .await?;
    // Planned and not committed yet: there, without a past.
    if commits.is_empty() {
        deployment(app, operator, name).await?;
    }
    let blobs = commits.iter().filter_map(|it| it.1.blob.clone()).collect();
    let versions = app.repo.facts(blobs).await?;
    let mut entries: Vec<HistoryEntry> = commits
        .into_iter()
        .map(|(site, it)| HistoryEntry {
            commit: it.revision,
            at: Wall(u64::try_from(it.at_ms).unwrap_or(0)),
            site,
            author: it.author,
            subject: it.subject,
            version: it.blob.and_then(|it| version_of(&versions, &it)),
        })
        .collect();
    entries.sort_by_key(|it| std::cmp::Reverse(it.at));
    Ok(HistoryView { name: name.clone(), entries })
}
