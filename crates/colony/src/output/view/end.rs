//! How a rollout ended: the sentences, what to type next, and the exit code.

use colony_api::view::{DeploymentSite, DeploymentView, Outcome};
use colony_core::id::NodeName;
use colony_core::state::State;

use crate::output::words::count;

/// The end that the user of a watch wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Present,
    /// A rollback was requested, so it is a success.
    Back,
    Absent,
    /// Only watching: a deletion is a success as well.
    Any,
}

/// The exit codes of the command line, in one place.
pub(crate) fn exit_code(outcome: Outcome, goal: Goal) -> u8 {
    match (outcome, goal) {
        (Outcome::Installed, Goal::Present | Goal::Back | Goal::Any)
        | (Outcome::RolledBack, Goal::Back)
        | (Outcome::Deleted, Goal::Absent | Goal::Any) => 0,
        (Outcome::Deferred, _) => 4,
        (Outcome::RolledBack, _) => 3,
        (Outcome::InProgress, _) => 0,
        (Outcome::Installed | Outcome::Deleted | Outcome::Failed, _) => 1,
    }
}

/// The end of a watch: data, then hints.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) says: Vec<String>,
    pub(crate) hints: Vec<String>,
}

/// The sentence of the view, as `show` prints it, and what to type next.
pub(crate) fn end(view: &DeploymentView, goal: Goal) -> End {
    let mut end = End::default();
    // The line of the only placement has the same content.
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
    let refused = match &site.rolled_back {
        Some(back) => {
            let bad = site.quarantine.iter().find(|it| it.version == back.from);
            bad.or(site.quarantine.first())
        }
        None => site.rejected.first(),
    };
    let Some(refused) = refused else { return };
    // A node from which the deployment was removed has no logs of it.
    let is_placed = |node: &&NodeName| site.placements.iter().any(|it| it.node == **node);
    let node = refused.node.as_ref().filter(is_placed);
    let (name, site) = (&view.name, &site.site);
    if let Some(node) = node {
        end.hints.push(format!("see: colony logs {name} --node {site}/{node} --previous"));
    }
    end.hints.push(format!("lift: colony quarantine release {name} --site {site}"));
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

/// The note when a watch ends early, with the number of unfinished nodes.
pub(crate) fn left_running(view: Option<&DeploymentView>, name: &str) -> String {
    let open = |it: &DeploymentView| {
        let placements = it.sites.iter().flat_map(|it| &it.placements);
        placements.filter(|it| !it.state.is_final()).count()
    };
    let whose = match view.map(open) {
        None | Some(0) => String::new(),
        Some(open) => format!(" on {}", count(open, "node")),
    };
    format!("stopped watching; {name} continues{whose}\nsee: colony deployment show {name} --watch")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;
    use crate::output::sample::{self, ago, hello, installed, look, site, with};
    use crate::output::view::deployment;

    #[test]
    fn one_node_needs_no_sentence() {
        check_end(&hello("installed", "1.0", json!([installed("1.0")])), Goal::Present, "0: ");
    }

    #[test]
    fn a_rollback_names_cause_quarantine_and_revert() {
        let view = sample::rolled_back();
        assert_snapshot!(text_of_end(&view, Goal::Present), @r"
        ROLLED BACK to 1.1: home/laptop unhealthy (GET / 500, 3×); 1.2-bad quarantined, revert commit 9c01de4
        see: colony logs hello --node home/laptop --previous
        lift: colony quarantine release hello --site home
        ");
        assert_eq!(exit_code(view.outcome, Goal::Present), 3);
        assert_eq!(exit_code(view.outcome, Goal::Back), 0);
    }

    #[test]
    fn a_first_install_goes_back_to_nothing() {
        let mut home = with(
            site("home", "ROLLED_BACK", json!([])),
            json!({"rolledBack": {"from": "1.0", "since": ago(3)}}),
        );
        home["quarantine"] = json!([{"version": "1.0", "workload": "sha256:ab", "since": ago(3),
            "reason": "it exited with 1"}]);
        let view = hello("rolled-back", "1.0", json!([home]));
        assert_snapshot!(text_of_end(&view, Goal::Present), @r"
        hello is rolled-back
        lift: colony quarantine release hello --site home
        ");
    }

    #[test]
    fn watch_ends_with_the_sentence_of_show() {
        let views =
            [sample::deferred(), sample::rolled_back(), sample::failed(), sample::deleted()];
        for (view, goal) in views.iter().flat_map(|it| [(it, Goal::Present), (it, Goal::Absent)]) {
            assert_eq!(end(view, goal).says.join("\n"), view.sentence);
            assert!(deployment::show(view, &look()).contains(&view.sentence));
        }
    }

    #[test]
    fn a_failure_says_what_to_do() {
        assert_snapshot!(text_of_end(&sample::failed(), Goal::Present), @r"
        FAILED: home/laptop: image-missing (hub/hello:9 does not exist)
        help: publish the image or deploy a version that has one
        see: colony logs hello --node home/laptop
        again: colony deployment retry hello --node home/laptop
        ");
    }

    #[test]
    fn a_conflict_shows_the_difference() {
        let home = with(
            site("home", "CONFLICT", json!([])),
            json!({"conflict": {"diff": "-a: 1\n+a: 2", "since": ago(3)}}),
        );
        assert_snapshot!(text_of_end(&hello("failed", "1.1", json!([home])), Goal::Present), @r"
        hello is failed
        -a: 1
        +a: 2
        again: look at the change, then deploy hello once more
        ");
    }

    #[test]
    fn who_is_away_is_counted_and_named() {
        let expected = "4: INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return";
        check_end(&sample::deferred(), Goal::Present, expected);
        let expected =
            "4: deferred 1 (plant-b/b2 offline 3 h, to be removed there); catches up on return";
        check_end(&sample::deleted(), Goal::Absent, expected);
    }

    #[test]
    fn a_deployment_that_vanishes_is_no_success_unless_asked_for() {
        assert_eq!(exit_code(Outcome::Deleted, Goal::Absent), 0);
        assert_eq!(exit_code(Outcome::Deleted, Goal::Present), 1);
        assert_eq!(exit_code(Outcome::Installed, Goal::Absent), 1);
        assert_eq!(exit_code(Outcome::Failed, Goal::Back), 1);
        assert_eq!(exit_code(Outcome::Deleted, Goal::Any), 0);
        assert_eq!(exit_code(Outcome::Installed, Goal::Any), 0);
        assert_eq!(exit_code(Outcome::RolledBack, Goal::Any), 3);
    }

    fn text_of_end(view: &DeploymentView, goal: Goal) -> String {
        let end = end(view, goal);
        end.says.into_iter().chain(end.hints).map(|it| it + "\n").collect()
    }

    #[track_caller]
    fn check_end(view: &DeploymentView, goal: Goal, expected: &str) {
        let code = exit_code(view.outcome, goal);
        assert_eq!(format!("{code}: {}", end(view, goal).says.join("\n")), expected);
    }
}
