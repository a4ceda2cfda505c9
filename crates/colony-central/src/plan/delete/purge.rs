//! Purges: the marks in Git that have a deployment's volumes removed with it.
//!
//! A mark is written in the commit that removes the file, and only if the file
//! is removed. A deletion that keeps the volumes removes a mark that an earlier
//! deletion of the same deployment has left.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_core::purge::{mark_path, mark_text};
use colony_core::site::is_colony_node;
use colony_git::Deployments;
use colony_store::ChangeEdit;

use crate::app::App;
use crate::fault::Fault;
use crate::plan::inputs::PlanInputs;
use crate::plan::{Plan, render};

/// The blobs of the marks that Git has, by path.
pub(in crate::plan) type Marks = BTreeMap<String, BlobId>;

/// Looks for the marks of these deployments.
pub(in crate::plan) async fn marks(
    app: &App,
    of: impl IntoIterator<Item = (SiteName, DeploymentId)>,
) -> Result<Marks, Fault> {
    let paths: Vec<String> = of.into_iter().map(|(site, id)| mark_path(&site, &id)).collect();
    if paths.is_empty() {
        return Ok(Marks::new());
    }
    let read = move |git: &Deployments| {
        let mut marks = Marks::new();
        for path in paths {
            if let Some(blob) = git.blob_at(&path)? {
                marks.insert(path, blob);
            }
        }
        Ok(marks)
    };
    Ok(app.repo.call("look for marks of purges", read).await?)
}

/// Adds the marks to the plan of a deletion at `sites`, or takes them away.
pub(super) async fn mark(
    app: &App,
    plan: &mut Plan,
    inputs: &PlanInputs,
    name: &DeploymentName,
    sites: &BTreeSet<SiteName>,
    purge: bool,
) -> Result<(), Fault> {
    let ids = ids(inputs, name, sites);
    let there = marks(app, ids.iter().cloned()).await?;
    for (site, id) in &ids {
        let path = mark_path(site, id);
        let (before, removed) = (there.get(&path), plan.removed_file(site));
        // Without a file that is removed, nothing is deleted here.
        if before.is_some() == purge || (!purge && removed.is_none()) {
            continue;
        }
        let text = purge.then(|| mark_text(name, id));
        plan.show_diff(&path, before.map(|_| "").filter(|_| purge), text.as_deref());
        let edit = ChangeEdit { path, expected: before.cloned(), text, only_with: removed };
        plan.marks.push((site.clone(), edit));
    }
    if purge {
        show(plan, inputs, name, &ids);
    }
    Ok(())
}

/// The deployments of this name: in the file, and those that the site runs or
/// still removes.
fn ids(
    inputs: &PlanInputs,
    name: &DeploymentName,
    sites: &BTreeSet<SiteName>,
) -> BTreeSet<(SiteName, DeploymentId)> {
    let targets = inputs.selected.iter().filter(|it| it.file.is_some());
    let written =
        targets.filter_map(|it| Some((it.site.clone(), it.deployed.as_ref()?.id.clone())));
    let reported = sites.iter().flat_map(|site| {
        let view = inputs.view(site).into_iter();
        let named = view.flat_map(|it| it.deployments_named(name));
        named.map(|it| (site.clone(), it.id.clone()))
    });
    written.chain(reported).filter(|it| sites.contains(&it.0)).collect()
}

/// Lists the nodes whose volumes go, and warns of those that may keep theirs.
fn show(
    plan: &mut Plan,
    inputs: &PlanInputs,
    name: &DeploymentName,
    ids: &BTreeSet<(SiteName, DeploymentId)>,
) {
    let (mut purges, mut foreign) = (BTreeSet::new(), BTreeSet::new());
    for (site, id) in ids {
        let Some(view) = inputs.view(site) else { continue };
        for placement in view.placements_of(id) {
            let node = &placement.id.node;
            let found = view.nodes.get(node).and_then(|it| it.capabilities.as_ref());
            let kind = if found.is_none_or(is_colony_node) { &mut purges } else { &mut foreign };
            kind.insert(format!("{site}/{node}"));
        }
    }
    plan.view.purges = purges.into_iter().collect();
    if !foreign.is_empty() {
        let nodes = colony_api::render::listed(foreign, "");
        let problem = format!("{nodes} is not colony's own and may keep the volumes of {name}");
        render::warn(&mut plan.view, &problem);
    }
}
