//! Where a deployment stands at this site, in a word and in a sentence.

use colony_api::view::Outcome;
use colony_core::attempt::Revision;
use colony_core::document::Document;
use colony_core::id::PlacementId;
use colony_core::rollup;
use colony_core::site::{Deployment, Placement, Site};
use colony_core::state::State;
use colony_core::time::{Now, Spoken};

/// The application's version in a document.
pub(super) fn version(document: &Document) -> String {
    let labels = &document.spec.metadata.labels;
    let component = || document.spec.spec.profile.components.first();
    let revision = || component().map(|it| it.properties.revision.to_string());
    labels.get("colony-version").cloned().or_else(revision).unwrap_or_default()
}

pub(super) fn version_of(deployment: &Deployment, revision: &Revision) -> Option<String> {
    deployment.document(revision).map(|it| version(it))
}

pub(super) fn placements<'a>(
    site: &'a Site,
    deployment: &'a Deployment,
) -> impl Iterator<Item = &'a Placement> {
    let of = move |node: &colony_core::id::NodeName| PlacementId {
        deployment: deployment.id.clone(),
        node: node.clone(),
    };
    site.members().filter_map(move |it| site.placement(&of(&it.name)))
}

pub(super) fn outcome(site: &Site, deployment: &Deployment) -> Outcome {
    let all: Vec<&Placement> = placements(site, deployment).collect();
    let open: Vec<&&Placement> = all.iter().filter(|it| !settled(deployment, it)).collect();
    if open.is_empty() && deployment.is_quarantined() {
        return Outcome::RolledBack;
    }
    if open.is_empty() && !all.is_empty() {
        return Outcome::Installed;
    }
    if deployment.is_stopped() || open.iter().any(|it| given_up(it)) {
        return Outcome::Failed;
    }
    let offline = |it: &Placement| !site.member(&it.id.node).is_some_and(|it| it.is_online());
    match !open.is_empty() && open.iter().all(|it| offline(it)) {
        true => Outcome::Deferred,
        false => Outcome::InProgress,
    }
}

/// It has what it should have here.
fn settled(deployment: &Deployment, placement: &Placement) -> bool {
    let wanted = deployment.effective().map(|it| it.workload);
    let target = placement.revisions.target.as_ref().map(|it| it.workload);
    let rejected = deployment.workload_rejected_on(&placement.id.node);
    let good = wanted == target || (rejected.is_some() && rejected == wanted);
    placement.state() == State::Installed && good && !deployment.is_withdrawn()
}

/// Failed, and nothing is tried by itself.
fn given_up(placement: &Placement) -> bool {
    matches!(placement.state(), State::Failed(_)) && placement.retry_at().is_none()
}

/// `INSTALLED`, `ROLLED_BACK`, or the worst placement's state.
pub(super) fn standing(site: &Site, deployment: &Deployment) -> String {
    if outcome(site, deployment) == Outcome::RolledBack {
        return "ROLLED_BACK".to_owned();
    }
    let worst = rollup::worst(placements(site, deployment).map(Placement::state));
    worst.map_or("IN_PROGRESS".to_owned(), |it| it.to_string())
}

/// `INSTALLED 1.1; node b2 deferred: offline 3 h`
pub(super) fn summary(site: &Site, deployment: &Deployment, now: Now) -> String {
    let runs = deployment.effective().and_then(|it| version_of(deployment, it));
    let mut text = standing(site, deployment);
    if let Some(version) = runs {
        text.push_str(&format!(" {version}"));
    }
    for placement in placements(site, deployment).filter(|it| !settled(deployment, it)) {
        let Some(member) = site.member(&placement.id.node) else { continue };
        if !member.is_online() {
            let silent = Spoken(now.wall.since(member.last_heard()));
            text.push_str(&format!("; node {} deferred: offline {silent}", member.name));
        }
    }
    text
}
