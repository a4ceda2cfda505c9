//! A deployment in a sentence: what, where, and what is to be done.

use std::collections::BTreeMap;

use colony_core::fleet::Outcome;
use colony_core::state::{Op, State};

use crate::view::{DeploymentSite, DeploymentView, PlacementView};

/// How many places are named.
const SHOWN: usize = 3;

/// The outcome as people want to hear it.
pub(super) fn deployment(view: &DeploymentView) -> String {
    match view.outcome {
        Outcome::Installed => installed(view),
        Outcome::InProgress => progress(view),
        Outcome::Failed => failed(view),
        Outcome::RolledBack => rolled_back(view),
        Outcome::Deferred => format!("{}; deferred: {}", settled(view), deferred(view)),
        Outcome::Deleted => deleted(view),
    }
}

fn installed(view: &DeploymentView) -> String {
    let version = view.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let commit = view.sites.iter().find_map(|it| it.commit.as_ref());
    let commit = commit.map(|it| format!(", commit {}", it.short())).unwrap_or_default();
    let broken = view.sites.iter().find_map(|it| it.findings.first());
    let broken = broken.map(|it| format!("; the file in Git cannot be used: {it}"));
    let broken = broken.unwrap_or_default();
    format!("INSTALLED{version} on {}{commit}{broken}", nodes(placements(view).count()))
}

/// `INSTALLED 2, UPDATING 1`.
fn progress(view: &DeploymentView) -> String {
    let why = view.sites.iter().flat_map(|it| it.why.first()).next().map(|it| &it.sentence);
    let states = states(view);
    match (states.is_empty(), why) {
        (true, Some(why)) => why.clone(),
        (true, None) => "on its way".to_owned(),
        (false, Some(why)) => format!("{states}: {why}"),
        (false, None) => states,
    }
}

fn settled(view: &DeploymentView) -> String {
    let states = states(view);
    if states.is_empty() { "nothing is left to do elsewhere".to_owned() } else { states }
}

fn states(view: &DeploymentView) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, it) in placements(view).filter(|it| it.1.deferred.is_none()) {
        *counts.entry(it.state.to_string()).or_default() += 1;
    }
    let deleted: u64 = view.sites.iter().map(|it| it.deleted).sum();
    // Placements of the past say something only while the deployment leaves.
    if deleted > 0 && is_leaving(view) {
        *counts.entry("DELETED".to_owned()).or_default() += usize::try_from(deleted).unwrap_or(0);
    }
    let counts: Vec<String> =
        counts.iter().map(|(state, count)| format!("{state} {count}")).collect();
    counts.join(", ")
}

fn is_leaving(view: &DeploymentView) -> bool {
    let leaving = |it: &PlacementView| {
        matches!(it.state, State::Deleting | State::Failed(Op::Delete) | State::Unknown(Op::Delete))
    };
    view.sites.iter().all(|it| it.status == "GONE" || it.placements.iter().all(leaving))
}

fn deferred(view: &DeploymentView) -> String {
    let nodes = placements(view).filter_map(|(site, it)| {
        let reason = &it.deferred.as_ref()?.reason;
        Some(format!("{}/{} {reason}", site.site, it.node))
    });
    let sites = view.sites.iter().filter(|it| it.placements.is_empty() && it.status != "GONE");
    let sites = sites.map(|it| format!("site {} ({})", it.site, it.status));
    let silent = view.sites.iter().filter(|it| it.silent_since.is_some());
    let silent = silent.map(|it| format!("site {} is silent", it.site));
    short(nodes.chain(sites).chain(silent).collect())
}

fn failed(view: &DeploymentView) -> String {
    let mut causes = Vec::new();
    for site in &view.sites {
        if let Some(it) = &site.stopped {
            let said = said(&it.failure.code, &it.failure.message);
            causes.push(format!("stopped at {}/{}: {said}", site.site, it.node));
        } else if site.conflict.is_some() {
            causes
                .push(format!("conflict at {}: another author changed the file in Git", site.site));
        } else if let Some(it) = site.findings.first() {
            causes.push(format!("site {} refuses the file: {it}", site.site));
        } else if site.status == "REFUSED" {
            let (name, site) = (&view.name, &site.site);
            causes.push(format!("Git refused the change at {site}; ask: colony why {name}"));
        } else if site.placements.is_empty() {
            causes.push(format!("site {} has no node that fits", site.site));
        }
        causes.extend(site.placements.iter().filter_map(|it| given_up(site, it)));
    }
    format!("FAILED: {}", short(causes))
}

/// A placement that failed and is not tried again.
fn given_up(site: &DeploymentSite, placement: &PlacementView) -> Option<String> {
    let failure = placement.failure.as_ref()?;
    let failed = matches!(placement.state, State::Failed(_)) && failure.retry_at.is_none();
    let said = said(&failure.code, &failure.message);
    (failed && site.stopped.is_none()).then(|| format!("{}/{}: {said}", site.site, placement.node))
}

/// Every site that went back, in one sentence each.
fn rolled_back(view: &DeploymentView) -> String {
    let sites: Vec<&DeploymentSite> = view
        .sites
        .iter()
        .filter(|it| it.rolled_back.is_some() || it.status == "ROLLED_BACK")
        .collect();
    match sites.is_empty() {
        true => "ROLLED BACK".to_owned(),
        false => short(sites.into_iter().map(site_rolled_back).collect()),
    }
}

fn site_rolled_back(site: &DeploymentSite) -> String {
    let Some(pair) = &site.rolled_back else {
        let name = |it: &PlacementView| format!("{}/{}", site.site, it.node);
        let back = site.placements.iter().filter(|it| it.version != site.version).map(name);
        let nodes: Vec<String> = back.collect();
        let version = site.version.as_deref().unwrap_or("the revision");
        return match nodes.is_empty() {
            true => format!("ROLLED BACK from {version} on nodes of {}", site.site),
            false => format!("ROLLED BACK from {version} on {}", short(nodes)),
        };
    };
    let bad = pair.from.as_deref().unwrap_or("the revision");
    let same = pair.to.is_some() && pair.to == pair.from;
    let quarantine = site.quarantine.iter().find(|it| it.version == pair.from);
    let reason = quarantine.map(|it| format!(": {}/{}", site.site, it.reason)).unwrap_or_default();
    let Some(good) = &pair.to else {
        return format!("NOT INSTALLED at {}{reason}; nothing ran here before", site.site);
    };
    let back = match same {
        true => format!(" to the revision of {good} before, with its parameters"),
        false => format!(" to {good}"),
    };
    let what = if same { format!("the new revision of {bad}") } else { bad.to_owned() };
    let quarantined = quarantine.map(|_| format!("; {what} quarantined")).unwrap_or_default();
    let revert = match (&pair.revert, &pair.not_reverted) {
        (Some(commit), _) => format!(", revert commit {}", commit.short()),
        (None, Some(why)) => format!(", not reverted: {why}"),
        (None, None) => String::new(),
    };
    format!("ROLLED BACK{back}{reason}{quarantined}{revert}")
}

fn deleted(view: &DeploymentView) -> String {
    let count: u64 = view.sites.iter().map(|it| it.deleted).sum();
    let unconfirmed: u64 = view.sites.iter().map(|it| it.unconfirmed).sum();
    match unconfirmed {
        0 => format!("DELETED {count}"),
        some => format!("DELETED {count}, of these {some} unconfirmed"),
    }
}

fn placements(view: &DeploymentView) -> impl Iterator<Item = (&DeploymentSite, &PlacementView)> {
    let all = view.sites.iter().flat_map(|site| site.placements.iter().map(move |it| (site, it)));
    all.filter(|it| it.1.state != State::Deleted)
}

fn said(code: &str, message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    if line.is_empty() { code.to_owned() } else { format!("{code} ({line})") }
}

fn nodes(count: usize) -> String {
    if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") }
}

fn short(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    let text = all.join("; ");
    if more == 0 { text } else { format!("{text}; and {more} more") }
}
