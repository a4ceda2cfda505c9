//! A plan: the count in a line, or all of it for a dry run.

use colony_api::view::{PlanAction, PlanTarget, PlanView};

use super::Look;
use super::table::table;
use super::words::or_dash;

/// `create 1, update 2`
pub(crate) fn summary(plan: &PlanView) -> String {
    let counts = PlanAction::ALL.map(|it| (it, plan.count(it)));
    let some = counts.into_iter().filter(|it| it.1 > 0);
    let parts: Vec<String> = some.map(|(it, count)| format!("{} {count}", it.name())).collect();
    if parts.is_empty() { "no targets".to_owned() } else { parts.join(", ") }
}

/// What cannot be as wanted, a line each.
pub(crate) fn remarks(plan: &PlanView) -> String {
    let odd = |it: &&PlanTarget| matches!(it.action, PlanAction::Deferred | PlanAction::Refused);
    let line = |it: &PlanTarget| {
        let reason = it.reason.as_deref().unwrap_or("no reason given");
        format!("{} {}: {reason}\n", it.action.name(), place(it))
    };
    let targets: String = plan.targets.iter().filter(odd).map(line).collect();
    let findings: String = plan.findings.iter().map(|it| format!("{it}\n")).collect();
    targets + &findings
}

pub(crate) fn show(plan: &PlanView, look: &Look) -> String {
    let version = plan.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let profile = plan.profile.as_deref().map(|it| format!(", profile {it}")).unwrap_or_default();
    let application = match plan.application.as_str() {
        own if own == plan.name.as_str() => String::new(),
        other => format!(": {other}"),
    };
    let mut text = format!("{}{application}{version}{profile}: {}\n\n", plan.name, summary(plan));
    let rows = plan.targets.iter().map(|it| {
        [place(it), it.action.name().to_owned(), versions(it), or_dash(it.reason.as_deref())]
    });
    text += &table(["TARGET", "ACTION", "VERSION", "WHY"], rows, look);
    text += "\n";
    for it in &plan.parameters {
        let say = |it: &Option<serde_json::Value>| {
            it.as_ref().map_or("unset".to_owned(), ToString::to_string)
        };
        text += &format!("\nparameter {}: {} → {}\n", it.name, say(&it.from), say(&it.to));
    }
    for file in &plan.files {
        text += &format!("\n{}\n{}\n", file.path, file.diff.trim_end());
    }
    for finding in &plan.findings {
        text += &format!("\n{finding}\n");
    }
    format!("{text}\nplan {}\n", plan.hash)
}

fn place(target: &PlanTarget) -> String {
    match &target.node {
        Some(node) => format!("{}/{node}", target.site),
        None => target.site.to_string(),
    }
}

/// `1.0 → 1.1`
fn versions(target: &PlanTarget) -> String {
    match (&target.from_version, &target.to_version) {
        (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
        (Some(from), None) => format!("{from} → nothing"),
        (_, Some(to)) => to.clone(),
        (None, None) => "-".to_owned(),
    }
}
