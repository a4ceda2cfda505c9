//! Which nodes do not get a deployment, grouped by the reason.

use std::collections::BTreeMap;

use crate::choice::Unfit;
use crate::document::Document;
use crate::id::NodeName;
use crate::site::{Deployment, Member, Site};
use crate::why::{Misfit, Unfitting};

/// The nodes that have no placement of `deployment`, by what speaks against each.
pub(super) fn unfitting(site: &Site, deployment: &Deployment) -> Vec<Unfitting> {
    let Some(document) = deployment.policy() else { return Vec::new() };
    let mut groups: BTreeMap<(Misfit, String), Vec<NodeName>> = BTreeMap::new();
    for member in site.members().filter(|it| !deployment.nodes().contains(&it.name)) {
        if let Some(key) = reason(site, document, member) {
            groups.entry(key).or_default().push(member.name.clone());
        }
    }
    let unfitting = |((misfit, reason), nodes)| Unfitting { nodes, misfit, reason };
    let mut groups: Vec<Unfitting> = groups.into_iter().map(unfitting).collect();
    groups.sort_by_key(|it| std::cmp::Reverse(it.nodes.len()));
    groups
}

fn reason(site: &Site, document: &Document, member: &Member) -> Option<(Misfit, String)> {
    match site.fitness(document, member) {
        Ok(()) => Some((Misfit::None, "fits, and is chosen when the site plans again".to_owned())),
        Err(unfit) => Some((misfit(&unfit)?, unfit_text(&unfit, member)?)),
    }
}

fn misfit(unfit: &Unfit) -> Option<Misfit> {
    Some(match unfit {
        Unfit::NotNamed => return None,
        Unfit::Label { .. } => Misfit::Label,
        Unfit::NoCapabilities => Misfit::NoCapabilities,
        Unfit::ProfileType(_) => Misfit::ProfileType,
        Unfit::Constraints(_) => Misfit::Constraints,
        Unfit::Cordoned => Misfit::Cordoned,
    })
}

/// What speaks against a node; `None` if the file names another one.
pub(super) fn unfit_text(unfit: &Unfit, member: &Member) -> Option<String> {
    unfit.text(member.capabilities())
}
