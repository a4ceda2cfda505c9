//! How a rollout ended: the sentences, what to type next, and the exit code.

use colony_api::view::{DeploymentSite, DeploymentView, Outcome};
use colony_core::state::State;

use super::words::count;

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

/// The sentence of the view, as `show` prints it, and what to type next.
pub(crate) fn end(view: &DeploymentView, goal: Goal) -> End {
    let mut end = End::default();
    // The line of the only placement said it all.
    if !(goal != Goal::Absent && view.outcome == Outcome::Installed && is_alone(view)) {
        end.says.push(view.sentence.clone());
    }
    for site in &view.sites {
        match view.outcome {
            Outcome::RolledBack => rolled_back(&mut end, view, site),
            Outcome::Failed => failed(&mut end, view, site),
            Outcome::Installed | Outcome::Deferred | Outcome::Deleted | Outcome::InProgress => {}
        }
    }
    end
}

fn is_alone(view: &DeploymentView) -> bool {
    view.sites.iter().map(|it| it.placements.len()).sum::<usize>() == 1
}

fn rolled_back(end: &mut End, view: &DeploymentView, site: &DeploymentSite) {
    let Some(back) = &site.rolled_back else { return };
    let bad = site.quarantine.iter().find(|it| it.version == back.from);
    if let Some(node) = bad.or(site.quarantine.first()).and_then(|it| it.node.as_ref()) {
        let (name, site) = (&view.name, &site.site);
        end.hints.push(format!("see: colony logs {name} --node {site}/{node} --previous"));
    }
    if !site.quarantine.is_empty() {
        let (name, site) = (&view.name, &site.site);
        end.hints.push(format!("lift: colony quarantine release {name} --site {site}"));
    }
}

fn failed(end: &mut End, view: &DeploymentView, site: &DeploymentSite) {
    let name = &view.name;
    for placement in site.placements.iter().filter(|it| matches!(it.state, State::Failed(_))) {
        let node = format!("{}/{}", site.site, placement.node);
        if let Some(remedy) = placement.failure.as_ref().and_then(|it| it.remedy.as_ref()) {
            end.hints.push(format!("help: {remedy}"));
        }
        end.hints.push(format!("see: colony logs {name} --node {node}"));
        end.hints.push(format!("again: colony deployment retry {name} --node {node}"));
    }
    if let Some(conflict) = &site.conflict {
        end.says.push(conflict.diff.clone());
        end.hints.push(format!("again: look at the change, then deploy {name} once more"));
    }
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
