//! A deployment: the line per placement, the list, the details, the history.

use std::time::Duration;

use colony_api::view::{
    DeploymentSite, DeploymentView, FailureView, HistoryView, Outcome, PlacementView,
    QuarantineView, RolloutStanding, RolloutView, status_text,
};
use colony_core::event::Presence;
use colony_core::fleet::RollupStatus;
use colony_core::state::State;

use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::{or_dash, share, short, stamp};

/// A state that lasts as long gets its reason.
const EXPLAINED_AFTER: Duration = Duration::from_secs(1);

/// A line per placement, or per site where nothing is placed yet, each with
/// whether it is urgent.
pub(crate) fn lines(view: &DeploymentView, look: &RenderOptions) -> Vec<(bool, String)> {
    view.sites.iter().flat_map(|site| site_lines(view, site, look)).collect()
}

fn site_lines(
    view: &DeploymentView,
    site: &DeploymentSite,
    look: &RenderOptions,
) -> Vec<(bool, String)> {
    if site.placements.is_empty() {
        return vec![(true, bare_line(view, site, look))];
    }
    let line = |it| (urgent(it), placement_line(view, site, it, look));
    let placements = site.placements.iter().map(line);
    placements.chain(open_decision(view, site).map(|it| (true, it))).collect()
}

/// `hello  plant-b  waits for operator (…); do: colony deployment promote …`
fn open_decision(view: &DeploymentView, site: &DeploymentSite) -> Option<String> {
    let open = site.why.iter().find(|it| it.command.is_some())?;
    let command = open.command.as_deref().unwrap_or_default();
    let (name, site, owner) = (&view.name, &site.site, &open.owner);
    Some(format!("{name}  {site}  waits for {owner} ({}); do: {command}", open.cause))
}

fn urgent(placement: &PlacementView) -> bool {
    !placement.state.is_final() || placement.failure.is_some()
}

/// `hello  home/laptop  INSTALLED 1.0  commit 3f2a1c0`
fn placement_line(
    view: &DeploymentView,
    site: &DeploymentSite,
    placement: &PlacementView,
    look: &RenderOptions,
) -> String {
    let version = placement.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let state = format!("{}{version}", placement.state);
    let mut parts = vec![view.name.to_string(), format!("{}/{}", site.site, placement.node), state];
    parts.extend(placement.commit.as_ref().map(|it| format!("commit {}", it.short())));
    parts.extend(remark(site, placement, look));
    parts.join("  ")
}

/// `hello  plant-b  PENDING 1.1  commit 3f2a1c0  the site has not taken it yet`
fn bare_line(view: &DeploymentView, site: &DeploymentSite, look: &RenderOptions) -> String {
    let version = site.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let status = match (site.status, site.deleted) {
        (RollupStatus::Gone, Some(1..)) => "DELETED".to_owned(),
        (other, _) => status_text(&other),
    };
    let mut parts =
        vec![view.name.to_string(), site.site.to_string(), format!("{status}{version}")];
    parts.extend(site.commit.as_ref().map(|it| format!("commit {}", it.short())));
    parts.extend(silence(site, look));
    // A state of this second is not worth an explanation: the next one follows.
    let lasts = look.now.since(site.since) >= EXPLAINED_AFTER;
    parts.extend(site.why.first().filter(|_| lasts).map(|it| it.sentence.clone()));
    parts.join("  ")
}

/// The state of a silent site is its last report.
fn silence(site: &DeploymentSite, look: &RenderOptions) -> Option<String> {
    site.silent_since.map(|it| format!("no contact with the site for {}", look.lasting(it)))
}

/// The remarks about a placement, including that its site is silent.
fn remark(
    site: &DeploymentSite,
    placement: &PlacementView,
    look: &RenderOptions,
) -> Option<String> {
    let parts: Vec<String> =
        [note(placement, look), silence(site, look)].into_iter().flatten().collect();
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// The remark about a placement, besides its state.
fn note(placement: &PlacementView, look: &RenderOptions) -> Option<String> {
    if let Some(deferred) = &placement.deferred {
        let reason = match deferred.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        return Some(format!("deferred{reason}; catches up on return"));
    }
    if let Some(failure) = &placement.failure {
        return Some(failure_text(failure, look));
    }
    if let Some(progress) = &placement.progress {
        return Some(progress.clone());
    }
    if placement.presence == Presence::Offline && placement.state == State::Installed {
        let heard = placement.last_heard.map(|it| look.ago(it));
        return Some(format!("stale: last contact {}", or_dash(heard.as_deref())));
    }
    placement.flagged.clone()
}

/// `unhealthy (GET / 500, 3×), try 1 of 3, again in 20 s`
fn failure_text(failure: &FailureView, look: &RenderOptions) -> String {
    let mut text = failure_short(failure);
    match (failure.tries, failure.of) {
        (Some(tries), Some(of)) => text += &format!(", try {tries} of {of}"),
        (Some(tries), None) if tries > 1 => text += &format!(", {tries} tries"),
        (Some(_) | None, _) => {}
    }
    if let Some(at) = failure.retry_at {
        text += &format!(", again {}", look.until(at));
    }
    text
}

/// `unhealthy (GET / 500, 3×)`
fn failure_short(failure: &FailureView) -> String {
    match failure.message.as_str() {
        "" => failure.code.clone(),
        message => format!("{} ({message})", failure.code),
    }
}

pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Installed => "INSTALLED",
        Outcome::InProgress => "IN PROGRESS",
        Outcome::Failed => "FAILED",
        Outcome::RolledBack => "ROLLED BACK",
        Outcome::Deferred => "DEFERRED",
        Outcome::Deleted => "DELETED",
    }
}

pub(crate) fn list(views: &[DeploymentView], look: &RenderOptions) -> String {
    let row = |it: &DeploymentView| {
        [
            it.name.to_string(),
            it.application.clone(),
            or_dash(it.version.as_deref()),
            outcome_name(it.outcome).to_owned(),
            nodes(it),
            it.sentence.clone(),
        ]
    };
    let header = ["NAME", "APPLICATION", "VERSION", "OUTCOME", "NODES", "SAYS"];
    if look.wide {
        return table(header, views.iter().map(row), look);
    }
    let narrow = |it| {
        let [name, _, version, outcome, nodes, says] = row(it);
        [name, version, outcome, nodes, says]
    };
    table(["NAME", "VERSION", "OUTCOME", "NODES", "SAYS"], views.iter().map(narrow), look)
}

/// The nodes that have the deployment, of all.
fn nodes(view: &DeploymentView) -> String {
    let installed: u64 = view.sites.iter().map(|it| it.installed).sum();
    share(installed, view.sites.iter().map(|it| it.placements.len() as u64).sum())
}

pub(crate) fn show(view: &DeploymentView, look: &RenderOptions) -> String {
    let version = view.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let head =
        format!("{}: {}{version}, {}", view.name, view.application, outcome_name(view.outcome));
    let mut text = format!("{head}\n{}\n\n{}\n", view.sentence, targets(view, look));
    for site in &view.sites {
        text += &site_remarks(site, look);
    }
    text
}

fn targets(view: &DeploymentView, look: &RenderOptions) -> String {
    let rows = view.sites.iter().flat_map(|site| show_rows(site, look));
    if look.wide {
        let header =
            ["TARGET", "STATE", "VERSION", "COMMIT", "SINCE", "SAYS", "NODE", "ATTEMPT", "BEFORE"];
        return table(header, rows, look);
    }
    let narrow = |row: [String; 9]| {
        let [target, state, version, commit, since, says, ..] = row;
        [target, state, version, commit, since, says]
    };
    let header = ["TARGET", "STATE", "VERSION", "COMMIT", "SINCE", "SAYS"];
    table(header, rows.map(narrow), look)
}

/// The last three columns are for a wide table.
fn show_rows(site: &DeploymentSite, look: &RenderOptions) -> Vec<[String; 9]> {
    let none = || "-".to_owned();
    if site.placements.is_empty() {
        return vec![[
            site.site.to_string(),
            status_text(&site.status),
            or_dash(site.version.as_deref()),
            short(site.commit.as_ref()),
            look.ago(site.since),
            or_dash(site.why.first().map(|it| it.sentence.as_str())),
            none(),
            none(),
            none(),
        ]];
    }
    let row = |it: &PlacementView| {
        [
            format!("{}/{}", site.site, it.node),
            it.state.to_string(),
            or_dash(it.version.as_deref()),
            short(it.commit.as_ref()),
            look.ago(it.since),
            or_dash(remark(site, it, look).as_deref()),
            if site.silent_since.is_some() { "unknown" } else { presence(it.presence) }.to_owned(),
            it.attempt.to_string(),
            or_dash(it.last_good.as_deref()),
        ]
    };
    site.placements.iter().map(row).collect()
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Joined => "never connected",
        Presence::Online => "online",
        Presence::Suspect => "late",
        Presence::Offline => "offline",
    }
}

/// The position of a rollout: `step 1 of 2 (1 node), soaking, which ends in 4
/// min`.
fn rollout(it: &RolloutView, look: &RenderOptions) -> String {
    let staged = if it.staged { ", staged beside the old version" } else { "" };
    let nodes = match it.nodes {
        Some(1) => " (1 node)".to_owned(),
        Some(nodes) => format!(" ({nodes} nodes)"),
        None => String::new(),
    };
    let standing = match (&it.paused, it.standing, it.until) {
        (Some(hold), _, _) => format!("paused by {} {}", hold.by, look.ago(hold.since)),
        (None, RolloutStanding::Soaking, Some(until)) => {
            format!("soaking, which ends {}", look.until(until))
        }
        (None, RolloutStanding::Soaking, None) => "soaking".to_owned(),
        (None, RolloutStanding::AwaitsPromotion, _) => "waits to be promoted".to_owned(),
        (None, RolloutStanding::Open, _) => "open".to_owned(),
        (None, RolloutStanding::Paused, _) => "paused".to_owned(),
    };
    format!("step {} of {}{nodes}{staged}, {standing}", it.step, it.of)
}

/// The remarks about a site as a whole, such as quarantines and holds.
fn site_remarks(site: &DeploymentSite, look: &RenderOptions) -> String {
    let name = &site.site;
    let mut text = String::new();
    for it in &site.quarantine {
        let version = it.version.as_deref().unwrap_or("a version");
        text += &format!("{name}: {version} quarantined {}: {}\n", look.ago(it.since), it.reason);
    }
    if let Some(it) = &site.stopped {
        let failure = failure_short(&it.failure);
        text += &format!("{name}: stopped {} at {}: {failure}\n", look.ago(it.since), it.node);
    }
    if let Some(it) = &site.rollout {
        text += &format!("{name}: {}\n", rollout(it, look));
    }
    if let Some(it) = &site.hold {
        let what = if it.deployment.is_some() { "held" } else { "the whole site is held" };
        let note = if it.note.is_empty() { String::new() } else { format!(": {}", it.note) };
        text += &format!("{name}: {what} by {} {}{note}\n", it.by, look.ago(it.since));
    }
    if let Some(it) = &site.conflict {
        text += &format!(
            "{name}: Git held something else than expected, nothing was written:\n{}\n",
            it.diff
        );
    }
    for it in &site.findings {
        text += &format!("{name}: {it}\n");
    }
    text
}

pub(crate) fn history(view: &HistoryView, look: &RenderOptions) -> String {
    let rows = view.entries.iter().map(|it| {
        [
            stamp(it.at),
            it.commit.short().to_owned(),
            it.site.to_string(),
            match it.removed {
                true => "removed".to_owned(),
                false => it.version.clone().unwrap_or_else(|| "unreadable".to_owned()),
            },
            it.author.clone(),
            it.subject.clone(),
            or_dash(Some(&it.changes.join(", "))),
        ]
    });
    table(["WHEN", "COMMIT", "SITE", "VERSION", "WHO", "WHAT", "CHANGES"], rows, look)
}

/// A revision of it is quarantined or rejected somewhere.
pub(crate) fn refuses(view: &DeploymentView) -> bool {
    view.sites.iter().any(|it| !it.quarantine.is_empty() || !it.rejected.is_empty())
}

/// The revisions that are quarantined at sites or rejected by nodes.
pub(crate) fn quarantine(views: &[DeploymentView], look: &RenderOptions) -> String {
    let row = |view: &DeploymentView, at: String, it: &QuarantineView| {
        let version = or_dash(it.version.as_deref());
        [view.name.to_string(), at, version, look.ago(it.since), it.reason.clone()]
    };
    let mut rows = Vec::new();
    for (view, site) in views.iter().flat_map(|it| it.sites.iter().map(move |site| (it, site))) {
        let name = &site.site;
        rows.extend(site.quarantine.iter().map(|it| row(view, name.to_string(), it)));
        rows.extend(site.rejected.iter().map(|it| {
            let node = it.node.as_ref().map(|it| format!("/{it}")).unwrap_or_default();
            row(view, format!("{name}{node}"), it)
        }));
    }
    table(["DEPLOYMENT", "REFUSED BY", "VERSION", "SINCE", "WHY"], rows, look)
}
