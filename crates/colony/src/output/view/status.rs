//! An overview of the whole fleet.

use colony_api::view::{DeploymentSummary, Role, StatusView};

use super::deployment::outcome_name;
use super::site;
use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::{or_dash, share};

pub(crate) fn show(view: &StatusView, look: &RenderOptions) -> String {
    let mut text = head(view);
    match view.sites.is_empty() {
        true => text += "\nno sites yet; add one: colony site add NAME\n",
        false => text += &format!("\n{}\n", site::list(&view.sites, look)),
    }
    match view.deployments.is_empty() {
        true => text += &format!("\nnothing is deployed yet; {}\n", how_to_begin(view)),
        false => text += &format!("\n{}\n", deployments(&view.deployments, look)),
    }
    if !view.attention.is_empty() {
        text += "\nNEEDS ATTENTION\n";
    }
    for it in &view.attention {
        text += &format!("{}: {}\n", it.subject, it.sentence);
        text += &it.act.as_ref().map(|it| format!("  {it}\n")).unwrap_or_default();
    }
    text
}

/// A command that works with the existing sites.
fn how_to_begin(view: &StatusView) -> String {
    let site = match (view.role, view.sites.as_slice()) {
        (Role::Local, _) => return "deploy at the central orchestrator".to_owned(),
        (Role::Central, [_, _, ..]) => format!(" --site {}", view.sites[0].name),
        (Role::Central, _) => String::new(),
    };
    format!("try: colony deploy hello{site} --watch")
}

/// `central https://hub.local:7443 · ready · commit 3f2a1c0 · colony 0.1.0`
fn head(view: &StatusView) -> String {
    let role = match view.role {
        Role::Central => "central",
        Role::Local => "local",
    };
    let ready = match view.ready {
        true => "ready".to_owned(),
        false => format!("NOT READY: {}", or_dash(Some(&view.reasons.join("; ")))),
    };
    let mut parts = vec![format!("{role} {}", view.url), ready];
    parts.extend(view.commit.as_ref().map(|it| format!("commit {}", it.short())));
    parts.push(format!("colony {}", view.version));
    parts.join(" · ") + "\n"
}

fn deployments(all: &[DeploymentSummary], look: &RenderOptions) -> String {
    let row = |it: &DeploymentSummary| {
        [
            it.name.to_string(),
            or_dash(it.version.as_deref()),
            outcome_name(it.outcome).to_owned(),
            share(it.installed, it.placements),
            it.sites.to_string(),
            it.sentence.clone(),
        ]
    };
    if !look.wide {
        let header = ["DEPLOYMENT", "VERSION", "OUTCOME", "NODES", "SITES", "SAYS"];
        return table(header, all.iter().map(row), look);
    }
    let wide = |it: &DeploymentSummary| {
        let [name, version, outcome, nodes, sites, says] = row(it);
        [name, it.application.clone(), version, outcome, nodes, sites, says]
    };
    let header = ["DEPLOYMENT", "APPLICATION", "VERSION", "OUTCOME", "NODES", "SITES", "SAYS"];
    table(header, all.iter().map(wide), look)
}
