//! Short responses: invitations, reasons, accepted orders, the repository.

use std::time::Duration;

use colony_api::view::{Accepted, InviteView, RepoView, WhyView};
use colony_core::time::HumanDuration;

use crate::output::RenderOptions;

/// The command has a line of its own, so that it can be copied.
pub(crate) fn invite(view: &InviteView, _: &RenderOptions) -> String {
    let good = match view.lifetime_seconds {
        it if it % 86_400 == 0 => format!("{} d", it / 86_400),
        it if it % 3_600 == 0 => format!("{} h", it / 3_600),
        it => HumanDuration(Duration::from_secs(it)).to_string(),
    };
    format!("run this on the other machine within {good} (valid once):\n{}", view.command)
}

pub(crate) fn accepted(view: &Accepted, _: &RenderOptions) -> String {
    view.sentence.clone()
}

pub(crate) fn why(view: &WhyView, look: &RenderOptions) -> String {
    let mut text = format!("{}\n", view.summary);
    for reason in &view.reasons {
        let place = match reason.nodes.as_slice() {
            [] => reason.site.clone(),
            nodes => format!("{}/{}", reason.site, crate::output::words::some(nodes)),
        };
        text += &format!("\n{place}: {}\n", reason.sentence);
        text += &format!("  who: {}   cause: {}\n", reason.owner, reason.cause);
        if let Some(since) = reason.since {
            text += &format!("  since: {} ago\n", look.lasting(since));
        }
        if let Some(act) = &reason.act {
            text += &format!("  do: {act}\n");
        }
        if let Some(command) = &reason.command {
            text += &format!("  run: {command}\n");
        }
        let when = reason.next_at.map(|it| format!(" ({})", look.until(it))).unwrap_or_default();
        if !reason.next.is_empty() {
            text += &format!("  next: {}{when}\n", reason.next);
        }
    }
    text
}

pub(crate) fn repo(view: &RepoView, _: &RenderOptions) -> String {
    format!("{}  branch {}\n{}", view.url, view.branch, view.how)
}
