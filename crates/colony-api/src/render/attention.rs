//! What a person should look at: every answer whose owner is a person.

use colony_core::fleet::Fleet;
use colony_core::id::SiteName;
use colony_core::why::{Cause, Subject, Why};

use super::{Context, command};
use crate::view::Attention;

/// What does not go on without help, the most urgent first.
pub(super) fn attention(fleet: &Fleet, context: &Context<'_>) -> Vec<Attention> {
    let sites = fleet.sites().map(|it| it.0).filter(|it| (context.sees)(it));
    let mut found: Vec<(u8, Attention)> = Vec::new();
    for site in sites {
        let whys = fleet.why_site(site, context.git_problem, context.now).unwrap_or_default();
        let own = whys.iter().filter(|it| it.needs_person());
        found.extend(own.map(|it| (rank(it), entry(site, it, context))));
    }
    found.sort_by_key(|it| it.0);
    found.into_iter().map(|it| it.1).collect()
}

fn entry(site: &SiteName, why: &Why, context: &Context<'_>) -> Attention {
    let subject = match &why.subject {
        Subject::Site { site } => site.to_string(),
        Subject::Node { node } => format!("{site}/{node}"),
        Subject::Deployment { deployment } | Subject::Placement { deployment, .. } => {
            format!("{deployment}@{site}")
        }
    };
    let act = command::of(why, site).or_else(|| why.act.clone());
    Attention {
        subject,
        cause: why.cause.name().to_owned(),
        sentence: why.statement(context.now),
        act,
    }
}

/// Failures before waits, and waits before what runs all the same.
#[expect(clippy::wildcard_enum_match_arm, reason = "everything else is a wait")]
fn rank(why: &Why) -> u8 {
    match &why.cause {
        it if it.failure().is_some() => 0,
        Cause::FileRefused { .. } | Cause::Conflict { .. } | Cause::NothingFits { .. } => 0,
        Cause::SiteSilent { .. } | Cause::NodeNotReady { .. } => 1,
        Cause::Stale { .. } | Cause::LostEligibility { .. } | Cause::NodeCordoned { .. } => 3,
        _ => 2,
    }
}
