//! How a rollout ended: the sentences, what to type next, and the exit code.

use colony_api::view::{DeploymentSite, DeploymentView, Outcome, PlacementView};
use colony_core::state::State;

use super::Look;
use super::deployment::{failure_short, failure_text};
use super::words::{count, some};

/// What the person who watches wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Present,
    /// A way back that was asked for is a success.
    Back,
    Absent,
}

/// The exit codes of the command line, in one place.
pub(crate) fn exit_code(outcome: Outcome, goal: Goal) -> u8 {
    match (outcome, goal) {
        (Outcome::Installed, Goal::Present | Goal::Back)
        | (Outcome::RolledBack, Goal::Back)
        | (Outcome::Deleted, Goal::Absent) => 0,
        (Outcome::Deferred, _) => 4,
        (Outcome::RolledBack, _) => 3,
        (Outcome::InProgress, _) => 0,
        (Outcome::Installed | Outcome::Deleted | Outcome::Failed, _) => 1,
    }
}

/// The end of a story: data, then what helps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) says: Vec<String>,
    pub(crate) hints: Vec<String>,
}

pub(crate) fn end(view: &DeploymentView, goal: Goal, look: &Look) -> End {
    let mut end = match view.outcome {
        Outcome::RolledBack => rolled_back(view),
        Outcome::Failed => failed(view, look),
        Outcome::Installed | Outcome::Deferred | Outcome::Deleted => counted(view, goal, look),
        Outcome::InProgress => End::default(),
    };
    if end.says.is_empty() {
        end.says.push(view.sentence.clone());
    }
    end
}

fn rolled_back(view: &DeploymentView) -> End {
    let mut end = End::default();
    for site in &view.sites {
        let Some(back) = &site.rolled_back else { continue };
        end.says.push(match &back.to {
            Some(version) => {
                format!("ROLLED BACK to {version}: {}{}", cause(site), aftermath(site))
            }
            None => format!("NOT INSTALLED: {}; nothing ran here before", cause(site)),
        });
        end.hints.extend(look_there(view, site));
        if !site.quarantine.is_empty() {
            end.hints.push(format!(
                "lift: colony quarantine release {} --site {}",
                view.name, site.site
            ));
        }
    }
    end
}

/// `home/laptop unhealthy (GET / 500, 3×)`
fn cause(site: &DeploymentSite) -> String {
    let Some(bad) = bad(site) else { return format!("at {}", site.site) };
    match (&bad.node, &bad.failure) {
        (Some(node), Some(failure)) => format!("{}/{node} {}", site.site, failure_short(failure)),
        (Some(_) | None, _) => format!("{}: {}", site.site, bad.reason),
    }
}

/// The quarantined revision the site went back from.
fn bad(site: &DeploymentSite) -> Option<&colony_api::view::QuarantineView> {
    let from = site.rolled_back.as_ref().and_then(|it| it.from.as_ref());
    let matching = site.quarantine.iter().find(|it| it.version.as_ref() == from);
    matching.or(site.quarantine.first())
}

/// `; 1.2-bad quarantined, revert commit 9c01de1`
fn aftermath(site: &DeploymentSite) -> String {
    let Some(back) = &site.rolled_back else { return String::new() };
    let from = back.from.as_deref().unwrap_or("it");
    let mut parts = Vec::new();
    if !site.quarantine.is_empty() {
        parts.push(format!("{from} quarantined"));
    }
    parts.extend(back.revert.as_ref().map(|it| format!("revert commit {}", it.short())));
    parts.extend(back.not_reverted.as_ref().map(|it| format!("not reverted in Git: {it}")));
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

fn look_there(view: &DeploymentView, site: &DeploymentSite) -> Option<String> {
    let node = bad(site)?.node.as_ref()?;
    Some(format!("see: colony logs {} --node {}/{node} --previous", view.name, site.site))
}

fn failed(view: &DeploymentView, look: &Look) -> End {
    let mut end = End::default();
    for site in &view.sites {
        for placement in site.placements.iter().filter(|it| matches!(it.state, State::Failed(_))) {
            failed_placement(&mut end, view, site, placement, look);
        }
        failed_site(&mut end, view, site);
    }
    end
}

fn failed_placement(
    end: &mut End,
    view: &DeploymentView,
    site: &DeploymentSite,
    placement: &PlacementView,
    look: &Look,
) {
    let (name, node) = (&view.name, format!("{}/{}", site.site, placement.node));
    let version = placement.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let failure = placement.failure.as_ref();
    let why = failure.map(|it| format!(": {}", failure_text(it, look))).unwrap_or_default();
    end.says.push(format!("{}{version} at {node}{why}", placement.state));
    if let Some(remedy) = failure.and_then(|it| it.remedy.as_ref()) {
        end.hints.push(format!("help: {remedy}"));
    }
    end.hints.push(format!("see: colony logs {name} --node {node}"));
    end.hints.push(format!("again: colony deployment retry {name} --node {node}"));
}

fn failed_site(end: &mut End, view: &DeploymentView, site: &DeploymentSite) {
    let at = &site.site;
    if let Some(conflict) = &site.conflict {
        end.says.push(format!(
            "CONFLICT at {at}: somebody else changed the file in Git; nothing was written\n{}",
            conflict.diff
        ));
        end.hints.push(format!("again: look at the change, then deploy {} once more", view.name));
    }
    end.says.extend(site.findings.iter().map(|it| format!("REFUSED at {at}: {it}")));
}

/// `INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return`
fn counted(view: &DeploymentView, goal: Goal, look: &Look) -> End {
    let placements = || view.sites.iter().flat_map(|it| &it.placements);
    let deferred = deferred(view, look);
    let installed =
        placements().filter(|it| it.state == State::Installed && it.deferred.is_none()).count();
    let deleted: u64 = view.sites.iter().map(|it| it.deleted).sum();
    let gone = goal == Goal::Absent || view.outcome == Outcome::Deleted;
    // One line said it all.
    if !gone && deferred.is_empty() && installed == 1 && placements().count() == 1 {
        return End { says: vec![String::new()], hints: Vec::new() };
    }
    let mut text = match gone {
        true => format!("DELETED {deleted}"),
        false => format!("INSTALLED {installed}"),
    };
    let unconfirmed: u64 = view.sites.iter().map(|it| it.unconfirmed).sum();
    if gone && unconfirmed > 0 {
        text += &format!(" ({unconfirmed} unconfirmed)");
    }
    if !deferred.is_empty() {
        let many = deferred.len();
        text += &format!(", deferred {many} ({}); catches up on return", some(&deferred));
    }
    End { says: vec![text], hints: Vec::new() }
}

/// `plant-b/b2 offline 3 h`, and sites that are not heard.
fn deferred(view: &DeploymentView, look: &Look) -> Vec<String> {
    let mut all = Vec::new();
    for site in &view.sites {
        for placement in &site.placements {
            let reason = placement.deferred.as_ref().map(|it| &it.reason);
            all.extend(reason.map(|it| format!("{}/{} {it}", site.site, placement.node)));
        }
        let silent = site.silent_since.filter(|_| site.status == "PENDING");
        all.extend(silent.map(|it| format!("site {} offline {}", site.site, look.lasting(it))));
    }
    all
}

/// `hello goes on at 3 nodes` for whoever stops watching.
pub(crate) fn left_running(view: Option<&DeploymentView>, name: &str) -> String {
    let open = |it: &DeploymentView| {
        let placements = it.sites.iter().flat_map(|it| &it.placements);
        placements.filter(|it| !it.state.is_final()).count()
    };
    let whose = match view.map(open) {
        None | Some(0) => String::new(),
        Some(open) => format!(" on {}", count(open, "node")),
    };
    format!(
        "not watching any more; {name} goes on{whose}\nsee: colony deployment show {name} --watch"
    )
}
