//! Nodes.

use colony_api::view::NodeView;
use colony_core::event::Presence;

use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::or_dash;

pub(crate) fn list(views: &[NodeView], look: &RenderOptions) -> String {
    let row = |it: &NodeView| {
        let labels: Vec<String> =
            it.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        [
            format!("{}/{}", it.site, it.name),
            presence(it, look),
            or_dash(it.engine.as_deref()),
            it.placements.len().to_string(),
            or_dash(Some(&remarks(it))),
            or_dash(Some(&labels.join(","))),
        ]
    };
    if look.wide {
        let header = ["NODE", "PRESENCE", "ENGINE", "DEPLOYMENTS", "SAYS", "LABELS"];
        return table(header, views.iter().map(row), look);
    }
    let narrow = |it| {
        let [node, presence, engine, deployments, says, _] = row(it);
        [node, presence, engine, deployments, says]
    };
    let header = ["NODE", "PRESENCE", "ENGINE", "DEPLOYMENTS", "SAYS"];
    table(header, views.iter().map(narrow), look)
}

/// `online`, `offline 3 h`
fn presence(view: &NodeView, look: &RenderOptions) -> String {
    if let Some(since) = view.silent_since {
        return format!("unknown, no contact with the site for {}", look.lasting(since));
    }
    match view.presence {
        Presence::Joined => "never connected".to_owned(),
        Presence::Online => "online".to_owned(),
        Presence::Suspect => "late".to_owned(),
        Presence::Offline => {
            format!("offline {}", look.lasting(view.last_heard.unwrap_or(view.since)))
        }
    }
}

fn remarks(view: &NodeView) -> String {
    let cordoned = view.cordoned.then(|| "cordoned".to_owned());
    let unready =
        (view.ready == Some(false)).then(|| format!("not ready: {}", view.reasons.join("; ")));
    cordoned.into_iter().chain(unready).collect::<Vec<_>>().join(", ")
}

pub(crate) fn show(view: &NodeView, look: &RenderOptions) -> String {
    let mut text = format!("{}/{}: {}\n", view.site, view.name, presence(view, look));
    if let Some(engine) = &view.engine {
        text += &format!("engine: {engine}\n");
    }
    match remarks(view).as_str() {
        "" => {}
        remarks => text += &format!("{remarks}\n"),
    }
    for (key, value) in &view.labels {
        text += &format!("label: {key}={value}\n");
    }
    if look.wide
        && let Some(capabilities) = &view.capabilities
    {
        text += &format!("capabilities:\n{}\n", colony_core::margo::yaml::emit(capabilities));
    }
    let rows = view.placements.iter().map(|it| {
        [
            it.deployment.to_string(),
            it.state.to_string(),
            or_dash(it.version.as_deref()),
            look.ago(it.since),
        ]
    });
    format!("{text}\n{}", table(["DEPLOYMENT", "STATE", "VERSION", "SINCE"], rows, look))
}
