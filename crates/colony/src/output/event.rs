//! Events and log lines.

use colony_api::view::{EventPage, EventView, LogLine, LogsView};

use super::Look;
use super::words::stamp;

/// `2026-11-16 00:53:18Z  home/laptop  hello  INSTALLING → INSTALLED`
pub(crate) fn line(event: &EventView, look: &Look) -> String {
    let place = match (&event.site, &event.node) {
        (Some(site), Some(node)) => format!("{site}/{node}"),
        (Some(site), None) => site.clone(),
        (None, _) => "central".to_owned(),
    };
    let mut parts = vec![stamp(event.at), place];
    parts.extend(event.deployment.clone());
    parts.push(event.sentence.clone());
    if look.wide {
        parts.extend([event.kind.clone(), event.actor.clone(), event.id.clone()]);
    }
    parts.join("  ")
}

pub(crate) fn page(page: &EventPage, look: &Look) -> String {
    page.events.iter().map(|it| line(it, look) + "\n").collect()
}

pub(crate) fn logs(view: &LogsView, _: &Look) -> String {
    log_lines(&view.lines)
}

/// Several services are told apart, one needs no name.
pub(crate) fn log_lines(lines: &[LogLine]) -> String {
    let one = lines.first().is_some_and(|first| lines.iter().all(|it| it.service == first.service));
    let line = |it: &LogLine| match one {
        true => format!("{}\n", it.text),
        false => format!("{} | {}\n", it.service, it.text),
    };
    lines.iter().map(line).collect()
}
