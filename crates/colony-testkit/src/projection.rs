//! Compares the central orchestrator's projection of a site with the site
//! itself.

use std::collections::BTreeMap;
use std::fmt::Debug;

use colony_core::event::StepStanding;
use colony_core::fleet::{DeploymentView, PlacementView, SiteView};
use colony_core::site::Site;
use colony_core::time::{Now, Timestamp};
use colony_core::why::{self, AnswerKey, Surroundings, Why};

/// The first field in which a projection made of a site's events differs from
/// the one the site makes of its own state.
///
/// Left out, with reasons:
/// - `head.git`: a commit that changes nothing at a site is not an event, so a
///   projection shows the commit of the site's last event;
/// - `flagged`: a mark of the central orchestrator's own;
/// - `Soaking.until`: a wall time that is computed from the monotonic clock at
///   the moment of the question. That there is one is compared.
pub fn projection_difference(view: &SiteView, site: &Site, now: Now) -> Option<String> {
    let (seen, own) = (comparable(view.clone()), comparable(site.view(now)));
    let (a, b) = (&seen.head, &own.head);
    field("head.log", &a.log, &b.log)
        .or_else(|| field("head.ready", &a.ready, &b.ready))
        .or_else(|| field("head.commands_done", &a.commands_done, &b.commands_done))
        .or_else(|| entries("holds", &seen.holds.holds, &own.holds.holds))
        .or_else(|| field("holds.removal", &seen.holds.removal, &own.holds.removal))
        .or_else(|| field("holds.history", &seen.holds.history, &own.holds.history))
        .or_else(|| entries("files", &seen.files, &own.files))
        .or_else(|| entries("nodes", &seen.nodes, &own.nodes))
        .or_else(|| entries("deployments", &seen.deployments, &own.deployments))
        .or_else(|| entries("placements", &placements(&seen), &placements(&own)))
}

/// The first subject for which the stored answers differ from the answers the
/// site would give.
pub fn answer_difference(view: &SiteView, site: &Site, now: Now) -> Option<String> {
    entries("answers", &view.answers, &site_answers(site, now))
}

/// All answers of a site without knowledge of its surroundings.
pub fn site_answers(site: &Site, now: Now) -> BTreeMap<AnswerKey, Vec<Why>> {
    why::answers(site, &Surroundings::default(), now)
}

fn comparable(mut view: SiteView) -> SiteView {
    view.deployments.values_mut().for_each(without_soak_end);
    view.placements.values_mut().flat_map(|it| it.values_mut()).for_each(|it| it.flagged = None);
    view
}

fn without_soak_end(deployment: &mut DeploymentView) {
    if let Some(rollout) = &mut deployment.rollout
        && let StepStanding::Soaking { until } = &mut rollout.standing
    {
        *until = Timestamp(0);
    }
}

fn placements(view: &SiteView) -> BTreeMap<String, &PlacementView> {
    let all = view.placements.values().flat_map(|it| it.values());
    all.map(|it| (it.id.to_string(), it)).collect()
}

fn field<T: PartialEq + Debug>(name: &str, seen: &T, own: &T) -> Option<String> {
    (seen != own).then(|| format!("{name}: central has {seen:?}, the site {own:?}"))
}

fn entries<K: Ord + Debug, V: PartialEq + Debug>(
    name: &str,
    seen: &BTreeMap<K, V>,
    own: &BTreeMap<K, V>,
) -> Option<String> {
    let mut keys = own.keys().chain(seen.keys());
    keys.find_map(|key| match (seen.get(key), own.get(key)) {
        (Some(_), None) => Some(format!("{name}: only central has {key:?}")),
        (None, Some(_)) => Some(format!("{name}: only the site has {key:?}")),
        (seen, own) => field(&format!("{name}[{key:?}]"), &seen, &own),
    })
}
