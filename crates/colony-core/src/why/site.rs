//! What blocks a whole site.

use crate::event::HoldScope;
use crate::id::DeploymentName;
use crate::site::view::deployment_path;
use crate::site::{HeldHistory, RefusedFile, Site};
use crate::time::Now;
use crate::why::story::version;
use crate::why::{Cause, SiteCause, Subject, Why};

/// Everything that blocks the site as a whole.
pub fn site(site: &Site, now: Now) -> Vec<Why> {
    let mut causes: Vec<Cause> = frozen(site).into_iter().collect();
    causes.extend(history(site));
    causes.extend(removals(site));
    causes.extend(hold(site));
    causes.extend(window(site, now));
    causes.extend(site.refused_files().keys().filter_map(|path| refused(site, path)));
    let empty = site.is_ready() && site.site_nodes().next().is_none();
    causes.extend(empty.then_some(Cause::Site(SiteCause::NoNodes {})));
    causes.into_iter().filter_map(|it| answer(site, it)).collect()
}

pub(super) fn answer(site: &Site, cause: Cause) -> Option<Why> {
    let subject = Subject::Site { site: site.name().clone() };
    Why::new(subject, vec![cause], "changes go on")
}

/// Why no placement of the site can move.
pub(super) fn frozen(site: &Site) -> Option<Cause> {
    if let Some(by) = site.fenced_by() {
        return Some(Cause::Site(SiteCause::Fenced { by }));
    }
    match (site.is_seeded(), site.is_ready()) {
        (false, _) => Some(Cause::Site(SiteCause::SiteNotSeeded {})),
        (true, false) => Some(Cause::Site(SiteCause::GitNotRead {})),
        (true, true) => None,
    }
}

pub(super) fn history(site: &Site) -> Option<Cause> {
    let HeldHistory { commit, since } = site.held_history()?.clone();
    Some(Cause::Site(SiteCause::HistoryHeld { commit, in_force: site.git().cloned(), since }))
}

pub(super) fn removals(site: &Site) -> Option<Cause> {
    let held = site.held_removal()?;
    let names = held.deployments.iter().filter_map(|it| site.deployment(it));
    let mut deployments: Vec<DeploymentName> = names.map(|it| it.name.clone()).collect();
    deployments.sort();
    (!deployments.is_empty())
        .then_some(Cause::Site(SiteCause::RemovalHeld { deployments, since: held.since }))
}

fn hold(site: &Site) -> Option<Cause> {
    let hold = site.holds().get(&HoldScope::Site)?.clone();
    Some(Cause::Site(SiteCause::HoldSite { by: hold.by, note: hold.note, since: hold.since }))
}

fn window(site: &Site, now: Now) -> Option<Cause> {
    site.window_awaited(now.wall).map(|opens| Cause::Site(SiteCause::WindowClosed { opens }))
}

/// What is wrong with the file at `path`, and what stays in force.
pub(super) fn refused(site: &Site, path: &str) -> Option<Cause> {
    let RefusedFile { findings, since } = site.refused_files().get(path)?.clone();
    let mut wanted = site.deployments().filter(|it| !it.is_withdrawn());
    let before = wanted.find(|it| deployment_path(site.name(), &it.name) == path);
    let runs = before.map(|it| version(it, it.accepted()));
    Some(Cause::Site(SiteCause::FileRefused { path: path.to_owned(), findings, runs, since }))
}
