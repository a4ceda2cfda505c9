//! Completes a plan with what the core computes, in the form the API shows.

use colony_api::view::PlanView;
use colony_core::id::DeploymentName;
use colony_core::margo::{Finding, Severity};
use colony_core::plan::{self as core, Request, Snapshot};
use colony_core::site::Action;

use super::Plan;
use super::hash::hash;

/// Computes what happens at every node, and the hash of the plan.
pub(super) fn complete(plan: &mut Plan, name: &DeploymentName, snapshot: &Snapshot) {
    let files = plan.next.iter().map(|it| it.file.clone()).collect();
    let force = !plan.forces.is_empty()
        || plan.commands.iter().any(|it| matches!(it.1, Action::Force { .. }));
    let planned = core::plan(&Request { name: name.clone(), files, force }, snapshot);
    show(&mut plan.view, planned);
    plan.view.hash = hash(plan, name);
}

/// Shows a plan of the core.
pub(super) fn show(view: &mut PlanView, planned: core::Plan) {
    view.targets = planned.targets;
    view.parameters = planned.parameters;
    view.settings = planned.settings;
    view.steps = planned.steps;
    view.pulls = planned.pulls;
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
