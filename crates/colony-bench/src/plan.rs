//! Choosing nodes: every deployment against every node.

use colony_core::margo::{Capabilities, DeviceConstraints};
use colony_core::site::{Commit, Content, File, Input, Site};
use colony_testkit::commit_id;

use crate::Scale;
use crate::clock::{median, repeated, timed};
use crate::fleet::{file, with_nodes};
use crate::table::{Table, ratio, time};

/// A first commit with all files, against the bare evaluation of as many
/// constraints.
pub(crate) fn run(scale: &Scale) -> Table {
    let (deployments, nodes) = (scale.plan_deployments, scale.plan_nodes);
    let title = format!("Full re-plan: {deployments} deployments × {nodes} nodes, 5 replicas");
    let mut table =
        Table::new(title, &["what", "total", "per deployment and node", "ratio to baseline"]);
    let plant = with_nodes(nodes);
    let files: Vec<File> = (0..deployments).map(|it| file(it, "1.0.0")).collect();
    let pairs = u32::try_from(deployments * nodes).unwrap_or(u32::MAX);

    let bare = repeated(1, || evaluate_all(&files, &plant.site));
    let first = (0..scale.rounds).map(|_| {
        let mut site = plant.site.clone();
        let input = commit(&site, files.clone(), 1_000_000);
        timed(|| site.step(input, plant.now)).0
    });
    let first = median(first.collect());
    let mut full = plant.site.clone();
    let _ = full.step(commit(&full, files, 1_000_000), plant.now);
    let changed: Vec<File> = (0..deployments).map(|it| file(it, "2.0.0")).collect();
    let again = (0..scale.rounds).map(|_| {
        let mut site = full.clone();
        let input = commit(&site, changed.clone(), 2_000_000);
        timed(|| site.step(input, plant.now)).0
    });
    let again = median(again.collect());

    let rows = [
        ("baseline: evaluate the constraints of all pairs", bare),
        ("commit that adds every deployment", first),
        ("commit that changes every deployment", again),
    ];
    for (name, it) in rows {
        table.row([name.to_owned(), time(it), time(it / pairs), ratio(it, bare)]);
    }
    table
}

fn commit(site: &Site, files: Vec<File>, number: u64) -> Input {
    let (revision, base) = (commit_id(number), site.git().cloned());
    Input::Commit(Commit { revision, base, rewritten: false, files })
}

fn evaluate_all(files: &[File], site: &Site) -> usize {
    let nodes: Vec<&Capabilities> = site.site_nodes().filter_map(|it| it.capabilities()).collect();
    let fits = |it: &DeviceConstraints| nodes.iter().filter(|n| it.evaluate(n).is_ok()).count();
    files.iter().filter_map(constraints).map(fits).sum()
}

fn constraints(file: &File) -> Option<&DeviceConstraints> {
    match &file.content {
        Content::Deployment(document) => document.spec.spec.profile.constraints.as_ref(),
        Content::Site(_) | Content::Refused(_) | Content::Purge(_) | Content::Gone => None,
    }
}
