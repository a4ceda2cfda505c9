//! A plan: the counts in a line, or all of it for a dry run.

use colony_api::view::{PlanAction, PlanTarget, PlanView, ValueChange};

use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::or_dash;

/// `create 1, update 2`
pub(crate) fn summary(plan: &PlanView) -> String {
    let counts = PlanAction::ALL.map(|it| (it, plan.count(it)));
    let some = counts.into_iter().filter(|it| it.1 > 0);
    let parts: Vec<String> = some.map(|(it, count)| format!("{} {count}", it.name())).collect();
    let nodes = if parts.is_empty() { "no node changes".to_owned() } else { parts.join(", ") };
    match plan.purges.len() {
        0 => nodes,
        1 => format!("{nodes}, and the volumes on 1 node"),
        count => format!("{nodes}, and the volumes on {count} nodes"),
    }
}

/// The targets that are removed or have a reason, a line for each reason, and
/// the findings.
pub(crate) fn remarks(plan: &PlanView) -> String {
    let mut lines: Vec<(String, Vec<String>, String)> = Vec::new();
    for it in plan.targets.iter().filter(|it| is_remarkable(it)) {
        let reason = it.reason.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
        let action = action(it);
        match lines.iter_mut().find(|line| line.0 == action && line.2 == reason) {
            Some(line) => line.1.push(place(it)),
            None => lines.push((action, vec![place(it)], reason)),
        }
    }
    let line = |(action, places, reason): &(String, Vec<String>, String)| {
        format!("{action} {}{reason}\n", places.join(", "))
    };
    let targets: String = lines.iter().map(line).collect();
    let findings: String = plan.findings.iter().map(|it| format!("{it}\n")).collect();
    targets + &purges(plan) + &findings
}

fn purges(plan: &PlanView) -> String {
    match plan.purges.as_slice() {
        [] => String::new(),
        nodes => format!("purge {}: the volumes, with all data in them\n", nodes.join(", ")),
    }
}

fn is_remarkable(target: &PlanTarget) -> bool {
    target.action == PlanAction::Remove || target.reason.is_some()
}

/// `remove`, or `deferred remove`.
fn action(target: &PlanTarget) -> String {
    match target.later {
        Some(later) => format!("{} {}", target.action.name(), later.name()),
        None => target.action.name().to_owned(),
    }
}

pub(crate) fn show(plan: &PlanView, look: &RenderOptions) -> String {
    let mut text = format!("{}: {}\n\n", head(plan), summary(plan));
    let rows = plan
        .targets
        .iter()
        .map(|it| [place(it), action(it), versions(it), or_dash(it.reason.as_deref())]);
    text += &table(["TARGET", "ACTION", "VERSION", "WHY"], rows, look);
    text += "\n";
    for it in &plan.steps {
        let nodes: Vec<&str> = it.nodes.iter().map(|it| it.as_str()).collect();
        text += &format!("\n{} step {}: {}: {}\n", it.site, it.step, nodes.join(", "), it.text);
    }
    text += &changes("parameter", &plan.parameters);
    text += &changes("setting", &plan.settings);
    if !plan.purges.is_empty() {
        text += &format!("\n{}", purges(plan));
    }
    for it in &plan.pulls {
        text += &format!("\npull {} on {}\n", it.package, it.targets.join(", "));
    }
    for file in &plan.files {
        text += &format!("\n{}\n{}\n", file.path, file.diff.trim_end());
    }
    for finding in &plan.findings {
        text += &format!("\n{finding}\n");
    }
    let refusal = plan.refusal.iter().map(|it| format!("\nrefused: {it}\n"));
    text.extend(refusal);
    format!("{text}\nplan {}\n", plan.hash)
}

/// `hello 1.1, profile compose`, or `web (hello) 1.1` where the names differ.
fn head(plan: &PlanView) -> String {
    let application = match plan.application.as_str() {
        "" => String::new(),
        it if it == plan.name.as_str() => String::new(),
        other => format!(" ({other})"),
    };
    let version = plan.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let profile = plan.profile.as_deref().map(|it| format!(", profile {it}")).unwrap_or_default();
    format!("{}{application}{version}{profile}", plan.name)
}

/// `parameter greeting at home, plant-b: "A" → "C"`
fn changes(what: &str, changes: &[ValueChange]) -> String {
    let mut lines: Vec<(&ValueChange, Vec<String>)> = Vec::new();
    for it in changes {
        let same = |line: &&mut (&ValueChange, Vec<String>)| {
            (&line.0.name, &line.0.from, &line.0.to) == (&it.name, &it.from, &it.to)
        };
        match lines.iter_mut().find(same) {
            Some(line) => line.1.push(it.site.to_string()),
            None => lines.push((it, vec![it.site.to_string()])),
        }
    }
    let value = |it: &Option<serde_json::Value>| {
        it.as_ref().map_or("unset".to_owned(), ToString::to_string)
    };
    let line = |(it, sites): &(&ValueChange, Vec<String>)| {
        let (from, to) = (value(&it.from), value(&it.to));
        format!("\n{what} {} at {}: {from} → {to}\n", it.name, sites.join(", "))
    };
    lines.iter().map(line).collect()
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
