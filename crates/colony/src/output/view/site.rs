//! Sites.

use colony_api::request::ReleaseWhat;
use colony_api::view::{HoldView, SitePresence, SiteView, status_text};

use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::{count, or_dash, share, short};

pub(crate) fn list(views: &[SiteView], look: &RenderOptions) -> String {
    let row = |it: &SiteView| {
        [
            it.name.to_string(),
            presence(it, look),
            nodes(it),
            or_dash(Some(&deployments(it))),
            short(it.commit.as_ref()),
            or_dash(Some(&remarks(it, look).join("; "))),
        ]
    };
    if !look.wide {
        let header = ["SITE", "PRESENCE", "NODES", "DEPLOYMENTS", "COMMIT", "SAYS"];
        return table(header, views.iter().map(row), look);
    }
    let wide = |it: &SiteView| {
        let [site, presence, nodes, deployments, commit, says] = row(it);
        let heard = or_dash(it.last_heard.map(|at| look.ago(at)).as_deref());
        let labels: Vec<String> =
            it.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let (colony, labels) = (or_dash(it.version.as_deref()), or_dash(Some(&labels.join(","))));
        [site, presence, heard, nodes, deployments, commit, says, colony, labels]
    };
    let header =
        ["SITE", "PRESENCE", "HEARD", "NODES", "DEPLOYMENTS", "COMMIT", "SAYS", "COLONY", "LABELS"];
    table(header, views.iter().map(wide), look)
}

/// `2/3` online, or `?/3` while the site is silent.
fn nodes(view: &SiteView) -> String {
    match view.nodes.unknown {
        0 => share(view.nodes.online, view.nodes.total),
        _ => share("?", view.nodes.total),
    }
}

/// `online`, `offline 3 h`
fn presence(view: &SiteView, look: &RenderOptions) -> String {
    match view.presence {
        SitePresence::Expected => "not joined".to_owned(),
        SitePresence::Online => "online".to_owned(),
        SitePresence::Offline => {
            let since = view.last_heard.or(view.joined).map(|it| look.lasting(it));
            format!("offline {}", or_dash(since.as_deref()))
        }
    }
}

/// `INSTALLED 12, FAILED(update) 1`
fn deployments(view: &SiteView) -> String {
    let parts: Vec<String> = view
        .deployments
        .iter()
        .map(|(state, count)| format!("{} {count}", status_text(state)))
        .collect();
    parts.join(", ")
}

fn remarks(view: &SiteView, look: &RenderOptions) -> Vec<String> {
    let unready = !view.ready && view.presence == SitePresence::Online;
    let unready =
        unready.then(|| format!("not ready: {}", or_dash(Some(&view.reasons.join("; ")))));
    let holds = view.holds.iter().map(|it| hold(it, look));
    let files = view.findings.len();
    let findings = (files > 0).then(|| format!("{} in its files", count(files, "finding")));
    let orders = usize::try_from(view.commands_open).unwrap_or(usize::MAX);
    let orders = (orders > 0).then(|| format!("{} not acknowledged", count(orders, "order")));
    unready.into_iter().chain(holds).chain(findings).chain(orders).collect()
}

/// `held by ann 2 h: audit until Friday`
fn hold(hold: &HoldView, look: &RenderOptions) -> String {
    let whose = hold.deployment.as_ref().map(|it| format!("{it} ")).unwrap_or_default();
    let since = look.lasting(hold.since);
    let commit =
        hold.commit.as_ref().map(|it| format!(" of commit {}", it.short())).unwrap_or_default();
    let note = if hold.note.is_empty() { String::new() } else { format!(": {}", hold.note) };
    match hold.what {
        ReleaseWhat::Hold => format!("{whose}held by {} for {since}{note}", hold.by),
        ReleaseWhat::Removal => format!("removals{commit} wait for a release for {since}{note}"),
        ReleaseWhat::History => {
            format!("a rewritten history{commit} waits to be accepted for {since}{note}")
        }
    }
}

pub(crate) fn show(view: &SiteView, look: &RenderOptions) -> String {
    let mut text = format!("{}: {}\n", view.name, presence(view, look));
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|it| !it.is_empty()) {
            text += &format!("{name}: {value}\n");
        }
    };
    line("orchestrator", view.version.clone());
    line("incarnation", view.incarnation.map(|it| it.to_string()));
    line("commit", view.commit.as_ref().map(|it| it.short().to_owned()));
    line("nodes join at", Some(view.urls.join(", ")));
    line("CA", view.ca.clone());
    line("deployments", Some(deployments(view)));
    for (key, value) in &view.labels {
        line("label", Some(format!("{key}={value}")));
    }
    for remark in remarks(view, look) {
        text += &format!("{remark}\n");
    }
    for finding in &view.findings {
        text += &format!("{finding}\n");
    }
    text
}
