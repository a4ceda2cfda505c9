//! The state of Git and of the fleet that a plan is made from, each read once.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::render::listed;
use colony_core::document::Document;
use colony_core::fleet::{Fleet, SiteView};
use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_core::margo::ApplicationDeployment;
use colony_core::plan::{SiteSnapshot, Snapshot, no_blob, versions_named};
use colony_core::site::{SiteSettings, deployment_file};
use colony_git::{Deployments, Error};

use crate::api::extract::name;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::clock;
use crate::fault::Fault;
use crate::repo::path;

/// How many commits are searched for the last settings that a site could use.
const FORMER_SETTINGS: usize = 100;

/// A site, and the deployment's file there.
#[derive(Debug, Clone)]
pub(super) struct DeploymentAtSite {
    pub site: SiteName,
    pub file: Option<(BlobId, String)>,
    /// The content of the file or, if the site cannot use it, the content that
    /// is in force there.
    pub deployed: Option<ApplicationDeployment>,
    /// Why the site cannot use the file, if it cannot.
    pub broken: Option<String>,
    /// The deployment that the site runs under this name.
    pub runs: Option<DeploymentId>,
    /// The same, or the one that is still being removed there. Its id is used
    /// again, so that a hold of it counts and no second copy is started.
    pub known: Option<DeploymentId>,
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
    OnlyOne,
    /// Where Git has its file, or the site still runs it.
    Rest,
}

/// The state of a deployment and its sites at one moment.
#[derive(Debug)]
pub(super) struct Survey {
    /// The sites the request is about.
    pub places: Vec<DeploymentAtSite>,
    /// Other sites that have the deployment.
    pub others: Vec<DeploymentAtSite>,
    /// All of these sites.
    pub snapshot: Snapshot,
}

impl Survey {
    pub(super) fn view(&self, site: &SiteName) -> Option<&SiteView> {
        self.snapshot.sites.get(site).map(|it| &it.view)
    }
}

/// Reads the sites of a deployment that the operator may see.
pub(super) async fn survey(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    wanted: &[String],
    default: DefaultSites,
) -> Result<Survey, Fault> {
    let in_git = sites_with_file(app, name).await?;
    let glance = {
        let fleet = app.brain.read().await?;
        glance(&fleet, &in_git, operator, name, wanted)?
    };
    let files = files(app, name, glance.views.keys().cloned().collect()).await?;
    let blobs = glance.views.values().flat_map(|it| versions_named(it, name)).cloned().collect();
    let versions = app.repo.facts(blobs).await?;
    let in_force = in_force(app, name, &glance.views, &files).await?;
    let versions = versions.into_iter().map(|(blob, it)| (blob, it.version.clone())).collect();
    let mut sites = BTreeMap::new();
    let mut places = Vec::new();
    for (site, view) in glance.views {
        let (file, settings) = files.get(&site).cloned().unwrap_or_default();
        let reported = view.deployment_named(name);
        let known = reported.map(|it| it.id.clone());
        let runs = reported.filter(|it| !it.withdrawn).map(|it| it.id.clone());
        let broken = file.as_ref().and_then(|it| broken(&site, name, &it.1));
        let written = file.as_ref().map(|it| it.1.clone());
        let before = in_force.get(&site).cloned().or(written);
        let deployed = before.as_deref().and_then(parsed);
        let site_name = site.clone();
        places.push(DeploymentAtSite { site: site_name, file, deployed, broken, runs, known });
        sites.insert(site, SiteSnapshot { view, settings, before });
    }
    let chosen = chosen(name, &glance.named, &glance.all, &places, default)?;
    let (places, mut others): (Vec<DeploymentAtSite>, Vec<DeploymentAtSite>) =
        places.into_iter().partition(|it| chosen.contains(&it.site));
    others.retain(|it| it.deployed.is_some());
    Ok(Survey { places, others, snapshot: Snapshot { sites, versions, now: clock::wall() } })
}

/// The part of the fleet that a survey needs.
struct FleetExtract {
    named: BTreeSet<SiteName>,
    /// All sites the operator may see.
    all: Vec<SiteName>,
    views: BTreeMap<SiteName, SiteView>,
}

/// The sites for which Git holds a file of the deployment.
async fn sites_with_file(app: &App, name: &DeploymentName) -> Result<BTreeSet<SiteName>, Fault> {
    let file = deployment_file(name);
    let look = move |git: &Deployments| git.sites_holding(&file);
    let found = app.repo.call("look for the file", look).await?;
    Ok(found.iter().filter_map(|it| it.parse().ok()).collect())
}

fn glance(
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

/// The sites a request is about.
fn chosen(
    name: &DeploymentName,
    named: &BTreeSet<SiteName>,
    all: &[SiteName],
    places: &[DeploymentAtSite],
    default: DefaultSites,
) -> Result<BTreeSet<SiteName>, Fault> {
    if !named.is_empty() {
        return Ok(named.clone());
    }
    // A site that has not seen a deletion yet still reports what it runs.
    let rest = default == DefaultSites::Rest;
    let has = |it: &&DeploymentAtSite| it.file.is_some() || rest && it.runs.is_some();
    let existing: BTreeSet<SiteName> =
        places.iter().filter(has).map(|it| it.site.clone()).collect();
    if !existing.is_empty() || default != DefaultSites::OnlyOne {
        return Ok(existing);
    }
    match all {
        [only] => Ok(BTreeSet::from([only.clone()])),
        [] => Err(Fault::refused("there is no site yet: add one with `colony site add <name>`")),
        many => {
            let names = listed(many, "");
            Err(Fault::field(
                "sites",
                format!("`{name}` is nowhere yet: say which site with `--site`; there is {names}"),
            ))
        }
    }
}

/// Reads the sites a request names; every unknown one is an error.
pub(crate) async fn sites_of(
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
        let site: SiteName = name("sites", text)?;
        operator.must_be_at(Role::Viewer, &site)?;
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

async fn files(
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
    for commit in git.history(path, FORMER_SETTINGS)? {
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

fn parsed(text: &str) -> Option<ApplicationDeployment> {
    ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| it.value)
}

/// What the site finds wrong with a file, if it cannot use it.
fn broken(site: &SiteName, name: &DeploymentName, text: &str) -> Option<String> {
    let findings = Document::parse(site, name, &no_blob(), text.as_bytes()).err()?;
    Some(findings.first().map(ToString::to_string).unwrap_or_default())
}

/// The texts in force at the sites whose file in Git cannot be used. A change
/// begins with them, or it would lose the settings and parameters that run.
async fn in_force(
    app: &App,
    name: &DeploymentName,
    views: &BTreeMap<SiteName, SiteView>,
    files: &BTreeMap<SiteName, SiteFiles>,
) -> Result<BTreeMap<SiteName, String>, Fault> {
    let blob = |(site, view): (&SiteName, &SiteView)| {
        let (_, text) = files.get(site)?.0.as_ref()?;
        broken(site, name, text)?;
        let deployment = view.deployment_named(name).filter(|it| !it.withdrawn)?;
        Some((site.clone(), deployment.accepted.blob.clone()))
    };
    let blobs: BTreeMap<SiteName, BlobId> = views.iter().filter_map(blob).collect();
    let texts = app.repo.texts(blobs.values().cloned().collect()).await?;
    let text = |(site, blob): (SiteName, BlobId)| Some((site, texts.get(&blob)?.clone()));
    Ok(blobs.into_iter().filter_map(text).collect())
}
