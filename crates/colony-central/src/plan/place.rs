//! Which sites are meant, and what Git holds for them.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_margo::ApplicationDeployment;

use crate::app::App;
use crate::auth::{Operator, Role};
use crate::catalog::listed;
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

/// Reads the sites somebody named; every unknown one is told.
pub(crate) async fn sites_of(
    app: &App,
    operator: &Operator,
    wanted: &[String],
) -> Result<Vec<SiteName>, Fault> {
    let fleet = app.brain.read().await?;
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
        let known = fleet.sites().filter(|it| operator.sees(it.0)).map(|it| it.0.to_string());
        let known = listed(&known.collect::<Vec<_>>(), "none yet: add one with `colony site add`");
        let unknown = unknown.join(", ");
        return Err(Fault::not_found(format!("no site `{unknown}`; there is {known}")));
    }
    Ok(sites.into_iter().collect())
}

/// The places of a deployment: the named ones, or all where it is.
pub(super) async fn places(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
    wanted: &[String],
) -> Result<Vec<Place>, Fault> {
    let named = sites_of(app, operator, wanted).await?;
    let sites = match named.is_empty() {
        true => existing(app, operator, name).await?,
        false => named,
    };
    read(app, name, sites).await
}

/// The sites where a deployment is, by what Git and the sites say.
pub(super) async fn existing(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<Vec<SiteName>, Fault> {
    let (all, told) = {
        let fleet = app.brain.read().await?;
        let all: Vec<SiteName> = fleet.sites().map(|it| it.0.clone()).collect();
        let live = |view: &colony_core::fleet::SiteView| {
            view.deployments_named(name).any(|it| !it.withdrawn)
        };
        let told = fleet.sites_of(name).filter(|it| live(it.1)).map(|it| it.0.clone());
        (all, told.collect::<BTreeSet<SiteName>>())
    };
    let mut found = told;
    found.extend(read(app, name, all).await?.into_iter().filter_map(|it| it.file.map(|_| it.site)));
    Ok(found.into_iter().filter(|it| operator.sees(it)).collect())
}

/// Where a deployment goes if nobody said: where it is, or the only site.
pub(super) async fn default_sites(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<Vec<SiteName>, Fault> {
    let existing = existing(app, operator, name).await?;
    if !existing.is_empty() {
        return Ok(existing);
    }
    let fleet = app.brain.read().await?;
    let all: Vec<SiteName> =
        fleet.sites().map(|it| it.0.clone()).filter(|it| operator.sees(it)).collect();
    match all.as_slice() {
        [_] => Ok(all),
        [] => Err(Fault::refused("there is no site yet: add one with `colony site add <name>`")),
        many => {
            let names: Vec<String> = many.iter().map(ToString::to_string).collect();
            let names = listed(&names, "");
            Err(Fault::field(
                "sites",
                format!("`{name}` is nowhere yet: say which site with `--site`; there is {names}"),
            ))
        }
    }
}

/// Reads the deployment's file at each site.
pub(super) async fn read(
    app: &App,
    name: &DeploymentName,
    sites: Vec<SiteName>,
) -> Result<Vec<Place>, Fault> {
    let paths: Vec<(SiteName, String)> =
        sites.into_iter().map(|it| (it.clone(), path(&it, name))).collect();
    let files = app
        .repo
        .call("read files", move |git| {
            let mut files = BTreeMap::new();
            for (site, path) in paths {
                let blob = git.blob_at(&path)?;
                let file = match blob {
                    Some(blob) => git.text(&blob)?.map(|text| (blob, text)),
                    None => None,
                };
                files.insert(site, file);
            }
            Ok(files)
        })
        .await?;
    let fleet = app.brain.read().await?;
    let runs = |site: &SiteName| {
        let found = fleet.site(site)?.deployment_named(name).filter(|it| !it.withdrawn)?;
        Some(found.id.clone())
    };
    let place = |(site, file)| Place { runs: runs(&site), deployed: parsed(&file), site, file };
    Ok(files.into_iter().map(place).collect())
}

fn parsed(file: &Option<(BlobId, String)>) -> Option<ApplicationDeployment> {
    let (_, text) = file.as_ref()?;
    ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| it.value)
}
