//! One look at Git and one at the fleet: everything a plan is made from.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::render::listed;
use colony_core::fleet::{Fleet, SiteView};
use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_core::plan::{SiteSnapshot, Snapshot, versions_named};
use colony_core::site::{SiteSettings, deployment_file};
use colony_git::{Deployments, Error};
use colony_margo::ApplicationDeployment;

use crate::app::App;
use crate::auth::{Operator, Role};
use crate::clock;
use crate::extract::name;
use crate::fault::Fault;
use crate::repo::path;

/// A site, and the deployment's file there.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub site: SiteName,
    pub file: Option<(BlobId, String)>,
    /// What the file says, if it can be read.
    pub deployed: Option<ApplicationDeployment>,
    /// What the site runs under this name, also if the file is broken.
    pub runs: Option<DeploymentId>,
}

impl Place {
    pub(super) fn path(&self, name: &DeploymentName) -> String {
        path(&self.site, name)
    }
}

/// Where a deployment goes if the request names no site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultSites {
    /// Where Git has its file.
    File,
    /// Where Git has its file, or the only site there is.
    OnlyOne,
    /// Where Git has its file, or something of it is left.
    Rest,
}

/// What is known of a deployment and its sites at one moment.
#[derive(Debug)]
pub(super) struct Survey {
    /// The sites the request is about.
    pub places: Vec<Place>,
    /// Other sites that have the deployment.
    pub others: Vec<Place>,
    /// All of these sites.
    pub snapshot: Snapshot,
}

impl Survey {
    pub(super) fn view(&self, site: &SiteName) -> Option<&SiteView> {
        self.snapshot.sites.get(site).map(|it| &it.view)
    }
}

/// Looks at the sites of a deployment that the operator may see.
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
    let versions = versions.into_iter().map(|(blob, it)| (blob, it.version.clone())).collect();
    let mut sites = BTreeMap::new();
    let mut places = Vec::new();
    for (site, view) in glance.views {
        let (file, settings) = files.get(&site).cloned().unwrap_or_default();
        let runs = view.deployment_named(name).filter(|it| !it.withdrawn).map(|it| it.id.clone());
        let before = file.as_ref().map(|it| it.1.clone());
        places.push(Place { deployed: parsed(&file), runs, site: site.clone(), file });
        sites.insert(site, SiteSnapshot { view, settings, before });
    }
    let chosen = chosen(name, &glance.named, &glance.all, &places, default)?;
    let (places, mut others): (Vec<Place>, Vec<Place>) =
        places.into_iter().partition(|it| chosen.contains(&it.site));
    others.retain(|it| it.deployed.is_some());
    Ok(Survey { places, others, snapshot: Snapshot { sites, versions, now: clock::wall() } })
}

/// What is taken from the fleet.
struct Glance {
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
) -> Result<Glance, Fault> {
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
    Ok(Glance { named, all, views })
}

/// The sites a request is about.
fn chosen(
    name: &DeploymentName,
    named: &BTreeSet<SiteName>,
    all: &[SiteName],
    places: &[Place],
    default: DefaultSites,
) -> Result<BTreeSet<SiteName>, Fault> {
    if !named.is_empty() {
        return Ok(named.clone());
    }
    // A site that has not heard of a deletion still reports what it runs.
    let rest = default == DefaultSites::Rest;
    let has = |it: &&Place| it.file.is_some() || rest && it.runs.is_some();
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
            let settings = text_at(git, &format!("sites/{site}.yaml"))?;
            // The site goes on with what it had if this cannot be read.
            let settings = settings.and_then(|it| SiteSettings::parse(it.1.as_bytes()).ok());
            Ok((site, (file, settings.unwrap_or_default())))
        };
        sites.into_iter().map(read).collect()
    };
    Ok(app.repo.call("read files", read).await?)
}

fn text_at(git: &Deployments, path: &str) -> Result<Option<(BlobId, String)>, Error> {
    let Some(blob) = git.blob_at(path)? else { return Ok(None) };
    // A file without text counts as broken YAML does: a deploy replaces it.
    let text = git.text(&blob)?.unwrap_or_default();
    Ok(Some((blob, text)))
}

fn parsed(file: &Option<(BlobId, String)>) -> Option<ApplicationDeployment> {
    let (_, text) = file.as_ref()?;
    ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| it.value)
}
