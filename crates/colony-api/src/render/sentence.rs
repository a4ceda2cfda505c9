//! A deployment in one sentence: what, where, and what to do.

use std::collections::BTreeMap;

use colony_core::fleet::{Outcome, RollupStatus};
use colony_core::state::State;
use colony_core::time::{HumanDuration, Timestamp};

use crate::view::{DeploymentSite, DeploymentView, PlacementView, QuarantineView, status_text};

/// The most places that are named.
const SHOWN: usize = 3;

/// The outcome as a sentence; a watch ends with it too.
pub(super) fn deployment(view: &DeploymentView, now: Timestamp) -> String {
    match view.outcome {
        Outcome::Installed => installed(view),
        Outcome::InProgress => progress(view),
        Outcome::Failed => failed(view),
        Outcome::RolledBack => rolled_back(view),
        Outcome::Deferred => deferred(view, now),
        Outcome::Deleted => deleted(view),
    }
}

fn installed(view: &DeploymentView) -> String {
    let version = view.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let mut commits: Vec<_> = view.sites.iter().filter_map(|it| it.commit.as_ref()).collect();
    commits.dedup();
    let commit = match commits.as_slice() {
        [one] => format!(", commit {}", one.short()),
        _ => String::new(),
    };
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

fn states(view: &DeploymentView) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let known = |it: &(&DeploymentSite, &PlacementView)| {
        it.1.deferred.is_none() && silent_and_behind(it.0).is_none()
    };
    for (_, it) in placements(view).filter(known) {
        *counts.entry(it.state.to_string()).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(state, count)| format!("{state} {count}")).collect();
    counts.join(", ")
}

/// `INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return`
fn deferred(view: &DeploymentView, now: Timestamp) -> String {
    let (mut waiting, mut many) = (Vec::new(), 0);
    for site in &view.sites {
        if let Some(since) = silent_and_behind(site) {
            waiting.push(format!("site {} offline {}", site.site, HumanDuration(now.since(since))));
            many += site.placements.len().max(1);
            continue;
        }
        if site.placements.is_empty() && !site.is_gone() {
            waiting.push(format!("site {} {}", site.site, status_text(&site.status)));
            many += 1;
        }
        let nodes = site.placements.iter().filter_map(|it| deferred_node(site, it));
        let before = waiting.len();
        waiting.extend(nodes);
        many += waiting.len() - before;
    }
    let states = Some(states(view)).filter(|it| !it.is_empty()).map(|it| format!("{it}, "));
    let states = states.unwrap_or_default();
    format!("{states}deferred {many} ({}); catches up on return", listed(waiting, ", "))
}

/// Since when a site is silent that still has to catch up.
fn silent_and_behind(site: &DeploymentSite) -> Option<Timestamp> {
    let nodes = site.placements.len() as u64;
    site.silent_since.filter(|_| nodes == 0 || site.installed < nodes)
}

/// `plant-b/b2 offline 3 h`; for a removal also the remark that it is one.
fn deferred_node(site: &DeploymentSite, placement: &PlacementView) -> Option<String> {
    let deferred = placement.deferred.as_ref()?;
    let removal = if placement.state.is_leaving() { ", to be removed there" } else { "" };
    Some(format!("{}/{} {}{removal}", site.site, placement.node, deferred.reason))
}

fn failed(view: &DeploymentView) -> String {
    let mut causes = Vec::new();
    for site in &view.sites {
        if let Some(it) = &site.stopped {
            let said = code_text(&it.failure.code, &it.failure.message);
            causes.push(format!("stopped at {}/{}: {said}", site.site, it.node));
        } else if site.conflict.is_some() {
            let site = &site.site;
            causes.push(format!(
                "conflict at {site}: another author changed the file in Git; nothing was written"
            ));
        } else if let Some(it) = site.findings.first() {
            causes.push(format!("site {} rejects the file: {it}", site.site));
        } else if site.status == RollupStatus::Refused {
            let (name, site) = (&view.name, &site.site);
            causes.push(format!("Git rejected the change at {site}; ask: colony why {name}"));
        } else if site.placements.is_empty() {
            causes.push(format!("site {} has no node that fits", site.site));
        }
        causes.extend(site.placements.iter().filter_map(|it| given_up(site, it)));
    }
    if causes.is_empty() { "FAILED".to_owned() } else { format!("FAILED: {}", short(causes)) }
}

/// A placement that failed and is not retried.
fn given_up(site: &DeploymentSite, placement: &PlacementView) -> Option<String> {
    let failure = placement.failure.as_ref()?;
    let failed = matches!(placement.state, State::Failed(_)) && failure.retry_at.is_none();
    let said = code_text(&failure.code, &failure.message);
    (failed && site.stopped.is_none()).then(|| format!("{}/{}: {said}", site.site, placement.node))
}

/// One sentence for every site that rolled back.
fn rolled_back(view: &DeploymentView) -> String {
    let sites: Vec<&DeploymentSite> = view
        .sites
        .iter()
        .filter(|it| it.rolled_back.is_some() || it.status == RollupStatus::RolledBack)
        .collect();
    match sites.is_empty() {
        true => "ROLLED BACK".to_owned(),
        false => short(sites.into_iter().map(site_rolled_back).collect()),
    }
}

fn site_rolled_back(site: &DeploymentSite) -> String {
    let Some(pair) = &site.rolled_back else {
        let nodes: Vec<String> =
            site.rejected.iter().map(|it| node_rolled_back(site, it)).collect();
        let version = site.version.as_deref().unwrap_or("the revision");
        return match nodes.is_empty() {
            true => format!("ROLLED BACK from {version} on nodes of {}", site.site),
            false => format!("ROLLED BACK from {version}: {}", short(nodes)),
        };
    };
    let bad = pair.from.as_deref().unwrap_or("the revision");
    let same = pair.to.is_some() && pair.to == pair.from;
    let quarantine = site.quarantine.iter().find(|it| it.version == pair.from);
    let reason = quarantine.map(|it| match it.node {
        Some(_) => format!(": {}/{}", site.site, it.reason),
        None => format!(": {}: {}", site.site, it.reason),
    });
    let Some(good) = &pair.to else {
        let reason = reason.unwrap_or_else(|| format!(" at {}", site.site));
        return format!("NOT INSTALLED{reason}; nothing ran here before");
    };
    let reason = reason.unwrap_or_else(|| format!(" at {}", site.site));
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

/// `plant/b1 unhealthy (GET / 500, 3×), back to 1.0`
fn node_rolled_back(site: &DeploymentSite, rejected: &QuarantineView) -> String {
    let placement = site.placements.iter().find(|it| Some(&it.node) == rejected.node.as_ref());
    let runs = placement.filter(|it| it.state == State::Installed);
    let back = match runs.and_then(|it| it.version.as_deref()) {
        Some(version) => format!(", back to {version}"),
        None => String::new(),
    };
    format!("{}/{}{back}", site.site, rejected.reason)
}

fn deleted(view: &DeploymentView) -> String {
    let count: u64 = view.sites.iter().filter_map(|it| it.deleted).sum();
    let unconfirmed: u64 = view.sites.iter().filter_map(|it| it.unconfirmed).sum();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    match (count, unconfirmed) {
        (0, _) => "DELETED; no node had it".to_owned(),
        (_, 0) => format!("DELETED from {}", nodes(count)),
        (_, some) => format!("DELETED from {}, of these {some} unconfirmed", nodes(count)),
    }
}

fn placements(view: &DeploymentView) -> impl Iterator<Item = (&DeploymentSite, &PlacementView)> {
    let all = view.sites.iter().flat_map(|site| site.placements.iter().map(move |it| (site, it)));
    all.filter(|it| it.1.state != State::Deleted)
}

fn code_text(code: &str, message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    if line.is_empty() { code.to_owned() } else { format!("{code} ({line})") }
}

fn nodes(count: usize) -> String {
    if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") }
}

fn short(all: Vec<String>) -> String {
    listed(all, "; ")
}

fn listed(mut all: Vec<String>, between: &str) -> String {
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    let text = all.join(between);
    if more == 0 { text } else { format!("{text}{between}and {more} more") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn nodes_and_sites_that_are_not_there_are_counted_and_named() {
        let away = json!({"reason": "offline 3 h"});
        let b2 = json!({"node": "b2", "state": "INSTALLED", "deferred": away});
        let plant = json!({"placements": [{"node": "b1", "state": "INSTALLED"}, b2]});
        let expected = "INSTALLED 1, deferred 1 (plant/b2 offline 3 h); catches up on return";
        check("deferred", json!([plant]), expected);
        let silent = json!({"status": "PENDING", "silentSince": NOW.0 - 300_000});
        let expected = "deferred 1 (site plant offline 5 min); catches up on return";
        check("deferred", json!([silent]), expected);
        let nodes = ["b1", "b2", "b3"].map(|it| json!({"node": it, "state": "INSTALLED"}));
        let silent = json!({"silentSince": NOW.0 - 300_000, "placements": nodes});
        let expected = "deferred 3 (site plant offline 5 min); catches up on return";
        check("deferred", json!([silent]), expected);
        let nodes = ["b1", "b2", "b3"].map(|it| json!({"node": it, "state": "INSTALLED"}));
        let current = json!({"silentSince": NOW.0 - 300_000, "placements": nodes, "installed": 3});
        let b2 = json!({"node": "c1", "state": "INSTALLED", "deferred": {"reason": "offline 3 h"}});
        let expected = "INSTALLED 3, deferred 1 (plant/c1 offline 3 h); catches up on return";
        check("deferred", json!([current, {"placements": [b2]}]), expected);
        let unjoined = json!({"status": "ROLLED_BACK"});
        let expected = "deferred 1 (site plant ROLLED BACK); catches up on return";
        check("deferred", json!([unjoined]), expected);
    }

    #[test]
    fn node_that_is_not_chosen_any_more_waits_to_be_removed() {
        let away = json!({"reason": "offline 3 h"});
        let b2 = json!({"node": "b2", "state": "DELETING", "deferred": away});
        let chosen = json!({"placements": [{"node": "b1", "state": "INSTALLED"}, b2]});
        let expected = "INSTALLED 1, deferred 1 (plant/b2 offline 3 h, to be removed there); \
                        catches up on return";
        check("deferred", json!([chosen]), expected);
        let leaving = json!({"placements": [b2]});
        let expected = "deferred 1 (plant/b2 offline 3 h, to be removed there); \
                        catches up on return";
        check("deferred", json!([leaving]), expected);
    }

    #[test]
    fn rollback_names_the_place_also_without_a_node() {
        let quarantine = |node: Value| {
            json!([{"version": "2.0", "workload": "sha256:ab", "since": 0, "node": node,
            "reason": if node.is_null() { "exited (1)" } else { "b1 exited (1)" }}])
        };
        let back = json!({"from": "2.0", "to": "1.0", "since": 0});
        let first = json!({"from": "2.0", "since": 0});
        for (pair, quarantine, expected) in [
            (
                &back,
                quarantine(json!("b1")),
                "ROLLED BACK to 1.0: plant/b1 exited (1); 2.0 quarantined",
            ),
            (
                &back,
                quarantine(json!(null)),
                "ROLLED BACK to 1.0: plant: exited (1); 2.0 quarantined",
            ),
            (&back, json!([]), "ROLLED BACK to 1.0 at plant"),
            (
                &first,
                quarantine(json!("b1")),
                "NOT INSTALLED: plant/b1 exited (1); nothing ran here before",
            ),
            (&first, json!([]), "NOT INSTALLED at plant; nothing ran here before"),
        ] {
            let site =
                json!({"status": "ROLLED_BACK", "rolledBack": pair, "quarantine": quarantine});
            check("rolled-back", json!([site]), expected);
        }
    }

    #[test]
    fn node_that_went_back_alone_is_named_with_its_cause_and_what_it_runs() {
        let rejected = json!([{"version": "2.0", "workload": "sha256:ab", "since": 0,
            "node": "b1", "reason": "b1 exited (1)"}]);
        let b1 = json!({"node": "b1", "state": "INSTALLED", "version": "1.0"});
        let b2 = json!({"node": "b2", "state": "INSTALLED", "version": "2.0"});
        let site = json!({"status": "ROLLED_BACK", "version": "2.0", "rejected": rejected,
            "placements": [b1, b2]});
        let expected = "ROLLED BACK from 2.0: plant/b1 exited (1), back to 1.0";
        check("rolled-back", json!([site]), expected);
    }

    #[test]
    fn failure_names_its_cause() {
        let conflict = json!({"status": "CONFLICT", "conflict": {"diff": "-a", "since": 0}});
        let expected = "FAILED: conflict at plant: another author changed the file in Git; \
                        nothing was written";
        check("failed", json!([conflict]), expected);
        let failure = json!({"code": "exited", "message": "1"});
        let failed = json!({"node": "b1", "state": "FAILED(update)", "failure": failure});
        check("failed", json!([{"placements": [failed]}]), "FAILED: plant/b1: exited (1)");
    }

    #[track_caller]
    fn check(outcome: &str, mut sites: Value, expected: &str) {
        let fill = |value: &mut Value, fields: Value| {
            let (Value::Object(value), Value::Object(fields)) = (value, fields) else {
                panic!("objects")
            };
            for (key, field) in fields {
                value.entry(key).or_insert(field);
            }
        };
        for site in sites.as_array_mut().into_iter().flatten() {
            fill(
                site,
                json!({"site": "plant", "status": "INSTALLED", "since": 0, "placements": []}),
            );
            for it in site["placements"].as_array_mut().into_iter().flatten() {
                fill(it, json!({"since": 0, "presence": "online"}));
            }
        }
        let view = json!({"name": "hello", "application": "hello", "outcome": outcome,
            "sentence": "", "sites": sites});
        let view: DeploymentView = serde_json::from_value(view).expect("a view");
        assert_eq!(deployment(&view, NOW), expected);
    }
}
