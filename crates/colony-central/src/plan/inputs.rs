//! The inputs of a plan: the state of Git and of the fleet, each read once.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::render::listed;
use colony_core::document::Document;
use colony_core::fleet::{Fleet, SiteView};
use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_core::margo::ApplicationDeployment;
use colony_core::plan::{SiteSnapshot, Snapshot, no_blob, versions_named};
use colony_core::purge::mark_path;
use colony_core::site::{SiteSettings, deployment_file};
use colony_git::{Deployments, Error};

use super::delete::purge::{self, Marks};
use crate::api::extract::parse_name;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::clock;
use crate::fault::Fault;
use crate::repo::path;

/// How many commits are searched for the settings that are in force at a site
/// whose file cannot be used.
const HISTORY_LIMIT: usize = 100;

/// One site, with the deployment's file and what the site reported about it.
#[derive(Debug, Clone)]
pub(super) struct DeploymentAtSite {
    pub site: SiteName,
    pub file: Option<(BlobId, String)>,
    /// The content that a change starts from: that of the file or, if the site
    /// cannot use the file, the last content that it could use and still runs
    /// (*in force*).
    pub deployed: Option<ApplicationDeployment>,
    /// Why the site cannot use the file, if it cannot.
    pub unusable_because: Option<String>,
    /// The deployment that the site runs under this name.
    pub live_id: Option<DeploymentId>,
    /// The same, or the one that is still being removed there. The id is used
    /// again, so that a hold of it counts and no second copy is started. Not if
    /// it is purged (Git has a *mark*, `<id>.purge`, to remove its volumes): the mark
    /// is for the deployment which was deleted.
    pub reusable_id: Option<DeploymentId>,
}

impl DeploymentAtSite {
    pub(super) fn path(&self, name: &DeploymentName) -> String {
        path(&self.site, name)
    }
}

/// The sites of a deployment if the request names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultSites {
    /// Where Git has its file.
    File,
    /// Where Git has its file, or the only site there is.
    FileOrOnlySite,
    /// Where Git has its file, or the site still runs it.
    FileOrRunning,
}

/// The state of a deployment and of its sites at one moment.
#[derive(Debug)]
pub(super) struct PlanInputs {
    /// The sites the request is about: those it names, or the default ones.
    pub selected: Vec<DeploymentAtSite>,
    /// Other sites that have the deployment.
    pub others: Vec<DeploymentAtSite>,
    /// The selected and the other sites, for the core's `plan`.
    pub snapshot: Snapshot,
}

impl PlanInputs {
    pub(super) fn view(&self, site: &SiteName) -> Option<&SiteView> {
        self.snapshot.sites.get(site).map(|it| &it.view)
    }
}

/// Reads everything that a plan of this deployment depends on, of the sites that
/// the operator may see. `named` are the sites in the request.
pub(super) async fn read_plan_inputs(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    named: &[String],
    default: DefaultSites,
) -> Result<PlanInputs, Fault> {
    let in_git = sites_with_file(app, name).await?;
    let extract = {
        let fleet = app.brain.read().await?;
        read_fleet(&fleet, &in_git, operator, name, named)?
    };
    let files = read_files(app, name, extract.views.keys().cloned().collect()).await?;
    // The blobs of the revisions that a plan shows; their facts (what a file says,
    // parsed once) contain the application versions.
    let blobs = extract.views.values().flat_map(|it| versions_named(it, name)).cloned().collect();
    let versions = app.repo.facts(blobs).await?;
    let in_force = read_texts_in_force(app, name, &extract.views, &files).await?;
    let versions = versions.into_iter().map(|(blob, it)| (blob, it.version.clone())).collect();
    let purged = purged(app, name, &extract.views).await?;
    let mut sites = BTreeMap::new();
    let mut all_sites = Vec::new();
    for (site, view) in extract.views {
        let (file, settings) = files.get(&site).cloned().unwrap_or_default();
        let reported = view.deployment_named(name);
        // Without a mark to purge it.
        let kept = reported.filter(|it| !purged.contains_key(&mark_path(&site, &it.id)));
        let reusable_id = kept.map(|it| it.id.clone());
        let live_id = reported.filter(|it| !it.withdrawn).map(|it| it.id.clone());
        let unusable_because = file.as_ref().and_then(|it| finding_of(&site, name, &it.1));
        let written = file.as_ref().map(|it| it.1.clone());
        let before = in_force.get(&site).cloned().or(written);
        let deployed = before.as_deref().and_then(parse);
        let site_name = site.clone();
        all_sites.push(DeploymentAtSite {
            site: site_name,
            file,
            deployed,
            unusable_because,
            live_id,
            reusable_id,
        });
        sites.insert(site, SiteSnapshot { view, settings, before });
    }
    let selection = select_sites(name, &extract.named, &extract.all, &all_sites, default)?;
    let (selected, mut others): (Vec<DeploymentAtSite>, Vec<DeploymentAtSite>) =
        all_sites.into_iter().partition(|it| selection.contains(&it.site));
    others.retain(|it| it.deployed.is_some());
    Ok(PlanInputs { selected, others, snapshot: Snapshot { sites, versions, now: clock::wall() } })
}

/// The marks in Git (`<id>.purge`) of deployments that are removed with their
/// volumes.
async fn purged(
    app: &App,
    name: &DeploymentName,
    views: &BTreeMap<SiteName, SiteView>,
) -> Result<Marks, Fault> {
    let reported = views
        .iter()
        .filter_map(|(site, view)| Some((site.clone(), view.deployment_named(name)?.id.clone())));
    purge::marks(app, reported).await
}

/// The part of the fleet that a plan needs.
struct FleetExtract {
    /// The sites that the request names.
    named: BTreeSet<SiteName>,
    /// All sites the operator may see.
    all: Vec<SiteName>,
    views: BTreeMap<SiteName, SiteView>,
}

/// The sites for which Git holds a file of the deployment.
async fn sites_with_file(app: &App, name: &DeploymentName) -> Result<BTreeSet<SiteName>, Fault> {
    let file = deployment_file(name);
    let find = move |git: &Deployments| git.sites_holding(&file);
    let found = app.repo.call("look for the file", find).await?;
    Ok(found.iter().filter_map(|it| it.parse().ok()).collect())
}

/// Clones the views of the sites that matter, so that the snapshot of the fleet is
/// not kept while Git is read.
fn read_fleet(
    fleet: &Fleet,
    in_git: &BTreeSet<SiteName>,
    operator: &Operator,
    name: &DeploymentName,
    wanted: &[String],
) -> Result<FleetExtract, Fault> {
    let named = sites_named(fleet, operator, wanted)?;
    let all: Vec<SiteName> =
        fleet.sites().map(|it| it.0.clone()).filter(|it| operator.sees(it)).collect();
    let reported = fleet.sites_of(name).map(|it| it.0).filter(|it| operator.sees(it));
    let mut sites: BTreeSet<&SiteName> =
        in_git.iter().filter(|it| operator.sees(it)).chain(reported).chain(&named).collect();
    if let [only] = all.as_slice() {
        sites.insert(only);
    }
    let view = |it: &SiteName| Some((it.clone(), fleet.site(it)?.clone()));
    let views = sites.into_iter().filter_map(view).collect();
    Ok(FleetExtract { named, all, views })
}

/// The sites the request is about: the named ones, or else those of `default`.
fn select_sites(
    name: &DeploymentName,
    named: &BTreeSet<SiteName>,
    all: &[SiteName],
    sites: &[DeploymentAtSite],
    default: DefaultSites,
) -> Result<BTreeSet<SiteName>, Fault> {
    if !named.is_empty() {
        return Ok(named.clone());
    }
    // A site that has not seen a deletion yet still reports what it runs.
    let running_counts = default == DefaultSites::FileOrRunning;
    let has = |it: &&DeploymentAtSite| it.file.is_some() || running_counts && it.live_id.is_some();
    let existing: BTreeSet<SiteName> = sites.iter().filter(has).map(|it| it.site.clone()).collect();
    if !existing.is_empty() || default != DefaultSites::FileOrOnlySite {
        return Ok(existing);
    }
    match all {
        [only] => Ok(BTreeSet::from([only.clone()])),
        [] => Err(Fault::refused("there is no site yet: add one with `colony site add <name>`")),
        many => {
            let names = listed(many, "");
            Err(Fault::field(
                "sites",
                format!(
                    "`{name}` is at no site yet: choose one with `--site` (known sites: {names})"
                ),
            ))
        }
    }
}

/// The sites that a request names, which all have to exist.
pub(crate) async fn sites_by_name(
    app: &App,
    operator: &Operator,
    wanted: &[String],
) -> Result<Vec<SiteName>, Fault> {
    let fleet = app.brain.read().await?;
    Ok(sites_named(&fleet, operator, wanted)?.into_iter().collect())
}

fn sites_named(
    fleet: &Fleet,
    operator: &Operator,
    wanted: &[String],
) -> Result<BTreeSet<SiteName>, Fault> {
    let mut sites = BTreeSet::new();
    let mut unknown = Vec::new();
    for text in wanted {
        let site: SiteName = parse_name("sites", text)?;
        operator.require_role(Role::Viewer, &site)?;
        match fleet.site(&site) {
            Some(_) => drop(sites.insert(site)),
            None => unknown.push(text.clone()),
        }
    }
    if !unknown.is_empty() {
        let known = fleet.sites().map(|it| it.0).filter(|it| operator.sees(it));
        let known = listed(known, "none yet: add one with `colony site add`");
        let unknown = unknown.join(", ");
        return Err(Fault::not_found(format!("no site `{unknown}`; there is {known}")));
    }
    Ok(sites)
}

/// The deployment's file at a site, and the site's own settings.
type SiteFiles = (Option<(BlobId, String)>, SiteSettings);

async fn read_files(
    app: &App,
    name: &DeploymentName,
    sites: Vec<SiteName>,
) -> Result<BTreeMap<SiteName, SiteFiles>, Fault> {
    let name = name.clone();
    let read = move |git: &Deployments| {
        let read = |site: SiteName| {
            let file = text_at(git, &path(&site, &name))?;
            let settings = site_settings(git, &format!("sites/{site}.yaml"))?;
            Ok((site, (file, settings)))
        };
        sites.into_iter().map(read).collect()
    };
    Ok(app.repo.call("read files", read).await?)
}

/// The settings of a site. One that cannot use its file keeps its former
/// settings: those of the newest commit with a valid file.
fn site_settings(git: &Deployments, path: &str) -> Result<SiteSettings, Error> {
    let Some((_, text)) = text_at(git, path)? else { return Ok(SiteSettings::default()) };
    if let Ok(settings) = SiteSettings::parse(text.as_bytes()) {
        return Ok(settings);
    }
    for commit in git.history(path, HISTORY_LIMIT)? {
        // Removed in between: the site had no settings then.
        let Some(blob) = commit.blob else { break };
        let text = git.text(&blob)?.unwrap_or_default();
        if let Ok(settings) = SiteSettings::parse(text.as_bytes()) {
            return Ok(settings);
        }
    }
    Ok(SiteSettings::default())
}

fn text_at(git: &Deployments, path: &str) -> Result<Option<(BlobId, String)>, Error> {
    let Some(blob) = git.blob_at(path)? else { return Ok(None) };
    // A file that is not text is treated like broken YAML: a deploy replaces
    // it.
    let text = git.text(&blob)?.unwrap_or_default();
    Ok(Some((blob, text)))
}

fn parse(text: &str) -> Option<ApplicationDeployment> {
    ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| it.value)
}

/// The first finding of a file that the site cannot use; `None` if it can.
fn finding_of(site: &SiteName, name: &DeploymentName, text: &str) -> Option<String> {
    let findings = Document::parse(site, name, &no_blob(), text.as_bytes()).err()?;
    Some(findings.first().map(ToString::to_string).unwrap_or_default())
}

/// The texts in force at the sites whose file in Git cannot be used: the last
/// ones they accepted. A change begins with them, or it would lose the settings
/// and parameters that run.
async fn read_texts_in_force(
    app: &App,
    name: &DeploymentName,
    views: &BTreeMap<SiteName, SiteView>,
    files: &BTreeMap<SiteName, SiteFiles>,
) -> Result<BTreeMap<SiteName, String>, Fault> {
    let blob = |(site, view): (&SiteName, &SiteView)| {
        let (_, text) = files.get(site)?.0.as_ref()?;
        finding_of(site, name, text)?;
        let deployment = view.deployment_named(name).filter(|it| !it.withdrawn)?;
        Some((site.clone(), deployment.accepted.blob.clone()))
    };
    let blobs: BTreeMap<SiteName, BlobId> = views.iter().filter_map(blob).collect();
    let texts = app.repo.texts(blobs.values().cloned().collect()).await?;
    let text = |(site, blob): (SiteName, BlobId)| Some((site, texts.get(&blob)?.clone()));
    Ok(blobs.into_iter().filter_map(text).collect())
}
