//! The core's plan as the API shows it.

use colony_api::view::{self, PlanView};
use colony_core::id::DeploymentName;
use colony_core::plan::{self as core, Later, PlanAction, Request, Snapshot};
use colony_margo::{Finding, Severity};

use super::Plan;
use super::hash::hash;

/// Says for every node what happens there, and names the plan.
pub(super) fn complete(plan: &mut Plan, name: &DeploymentName, snapshot: &Snapshot) {
    let files = plan.next.iter().map(|it| it.file.clone()).collect();
    let planned = core::plan(&Request { name: name.clone(), files }, snapshot);
    show(&mut plan.view, planned);
    plan.view.hash = hash(plan, name);
}

fn show(view: &mut PlanView, planned: core::Plan) {
    view.targets = planned.targets.into_iter().map(target).collect();
    view.parameters = planned.parameters.into_iter().map(change).collect();
    view.settings = planned.settings.into_iter().map(change).collect();
    view.steps = planned.steps.into_iter().map(step).collect();
    view.pulls = planned.pulls.into_iter().map(pull).collect();
    view.refusal = planned.refusal;
    planned.warnings.iter().for_each(|it| warn(view, it));
}

/// Adds a warning to a plan, once.
pub(super) fn warn(view: &mut PlanView, problem: &str) {
    let finding = Finding {
        file: None,
        line: 0,
        column: 0,
        path: String::new(),
        severity: Severity::Warning,
        problem: problem.to_owned(),
        expected: String::new(),
    };
    if !view.findings.contains(&finding) {
        view.findings.push(finding);
    }
}

pub(super) fn target(it: core::PlanTarget) -> view::PlanTarget {
    let (action, later) = action(it.action);
    view::PlanTarget {
        site: it.site,
        node: it.node,
        action,
        later,
        from_version: it.from_version,
        to_version: it.to_version,
        reason: it.reason,
    }
}

fn action(action: PlanAction) -> (view::PlanAction, Option<view::PlanAction>) {
    match action {
        PlanAction::Create => (view::PlanAction::Create, None),
        PlanAction::Update => (view::PlanAction::Update, None),
        PlanAction::Restart => (view::PlanAction::Restart, None),
        PlanAction::Remove => (view::PlanAction::Remove, None),
        PlanAction::Unchanged => (view::PlanAction::Unchanged, None),
        PlanAction::Refused => (view::PlanAction::Refused, None),
        PlanAction::Deferred(later) => (view::PlanAction::Deferred, Some(deferred(later))),
    }
}

fn deferred(later: Later) -> view::PlanAction {
    match later {
        Later::Create => view::PlanAction::Create,
        Later::Update => view::PlanAction::Update,
        Later::Restart => view::PlanAction::Restart,
        Later::Remove => view::PlanAction::Remove,
    }
}

fn change(it: core::ValueChange) -> view::ValueChange {
    view::ValueChange { site: it.site, name: it.name, from: it.from, to: it.to }
}

fn step(it: core::PlanStep) -> view::PlanStep {
    view::PlanStep { site: it.site, step: it.step, nodes: it.nodes, text: it.text }
}

fn pull(it: core::PlanPull) -> view::PlanPull {
    let target = |(site, node)| format!("{site}/{node}");
    view::PlanPull { package: it.package, targets: it.targets.into_iter().map(target).collect() }
}
