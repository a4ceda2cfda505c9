//! The nodes that are not selected for a deployment, grouped by the reason.

use std::collections::BTreeMap;

use crate::choice::Unfit;
use crate::document::Document;
use crate::id::NodeName;
use crate::site::{Deployment, Site, SiteNode};
use crate::why::{Misfit, Unfitting};

/// The nodes without a placement of `deployment`, by the reason.
pub(super) fn unfitting(site: &Site, deployment: &Deployment) -> Vec<Unfitting> {
    let Some(document) = deployment.policy() else { return Vec::new() };
    let mut groups: BTreeMap<(Misfit, String), Vec<NodeName>> = BTreeMap::new();
    for site_node in site.site_nodes().filter(|it| !deployment.nodes().contains(&it.name)) {
        if let Some(key) = reason(site, document, site_node) {
            groups.entry(key).or_default().push(site_node.name.clone());
        }
    }
    let unfitting = |((misfit, reason), nodes)| Unfitting { nodes, misfit, reason };
    let mut groups: Vec<Unfitting> = groups.into_iter().map(unfitting).collect();
    groups.sort_by_key(|it| std::cmp::Reverse(it.nodes.len()));
    groups
}

fn reason(site: &Site, document: &Document, site_node: &SiteNode) -> Option<(Misfit, String)> {
    match site.fitness(document, site_node) {
        Ok(()) => Some((Misfit::None, "fits, and is chosen when the site plans again".to_owned())),
        Err(unfit) => Some((misfit(&unfit)?, unfit_text(&unfit, site_node)?)),
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

/// Why a node does not fit; `None` if the file names another one.
pub(super) fn unfit_text(unfit: &Unfit, site_node: &SiteNode) -> Option<String> {
    unfit.text(site_node.capabilities())
}
