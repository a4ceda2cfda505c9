//! The hash of a plan: over blobs, contents and orders, not over presence.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_core::margo::{ApplicationDeployment, DeploymentId, Digest};

use super::Plan;

/// Identifies a plan by its inputs and its edits.
pub(super) fn hash(plan: &Plan, name: &DeploymentName) -> String {
    let mut text = format!("{name}\n");
    let expected: BTreeMap<&SiteName, Option<&BlobId>> =
        plan.edits.iter().map(|(site, it)| (site, it.expected.as_ref())).collect();
    for next in &plan.next {
        let blob = expected.get(&next.file.site).copied().flatten().map_or("-", BlobId::as_str);
        let content =
            next.file.text.as_deref().map_or_else(String::new, |it| content(it, next.fresh));
        text = format!("{text}{} {blob} {}\n", next.file.site, Digest::of(content.as_bytes()));
    }
    // A rollback order writes no file here: the diff of the change that follows
    // it identifies the plan.
    let follows = plan.view.files.iter().filter(|_| plan.next.is_empty());
    for file in follows {
        text = format!("{text}{} {}\n", file.path, Digest::of(file.diff.as_bytes()));
    }
    for (site, mark) in &plan.marks {
        text = format!("{text}{site} {} {}\n", mark.path, mark.text.is_some());
    }
    let commands: BTreeSet<String> =
        plan.commands.iter().map(|(site, it)| format!("{site} {it:?}\n")).collect();
    text.extend(commands);
    Digest::of(text.as_bytes()).to_string()
}

/// A generated id differs every time, so it does not count.
fn content(text: &str, fresh: bool) -> String {
    let parsed = ApplicationDeployment::parse(text.as_bytes()).ok().filter(|_| fresh);
    parsed.map_or_else(
        || text.to_owned(),
        |mut it| {
            it.value.id = DeploymentId::from_bytes([0; 16]);
            it.value.to_yaml()
        },
    )
}
