//! Items that need a person: every reason whose owner is a person.

use colony_core::fleet::Fleet;
use colony_core::id::SiteName;
use colony_core::why::{Cause, CentralCause, FitCause, NodeCause, SiteCause, Subject, Why};

use super::{Context, command};
use crate::view::Attention;

/// The most files without a site that are named.
const STRAYS: usize = 10;

/// Everything that cannot continue without help, the most urgent first.
pub(super) fn attention(fleet: &Fleet, context: &Context<'_>) -> Vec<Attention> {
    let sites = fleet.sites().map(|it| it.0).filter(|it| (context.sees)(it));
    let mut found: Vec<(u8, Attention)> = Vec::new();
    for site in sites {
        let whys = fleet.why_site(site, context.git_problem, context.now).unwrap_or_default();
        let own = whys.iter().filter(|it| it.needs_person());
        found.extend(own.map(|it| (rank(it), entry(site, it, context))));
    }
    found.sort_by_key(|it| it.0);
    found.into_iter().map(|it| it.1).chain(strays(context.strays)).collect()
}

/// Files of deployments that no site reads.
fn strays(paths: &[String]) -> Vec<Attention> {
    let mut shown: Vec<Attention> = paths.iter().take(STRAYS).map(|it| stray(it)).collect();
    if let Some(more) = paths.len().checked_sub(STRAYS + 1) {
        let sentence = format!("{} more files that no site reads", more + 1);
        shown.push(stray_entry("deployments/", sentence, None));
    }
    shown
}

fn stray(path: &str) -> Attention {
    let site = path.split('/').nth(1).filter(|_| path.split('/').count() > 2);
    match site {
        Some(site) => {
            let name = site.parse::<SiteName>().ok();
            let act = name.map(|it| format!("colony site add {it}, or move the file"));
            stray_entry(path, format!("nothing reads this file: there is no site `{site}`"), act)
        }
        None => {
            let expected = "nothing reads this file: expected deployments/<site>/<name>.yaml";
            stray_entry(path, expected.to_owned(), None)
        }
    }
}

fn stray_entry(path: &str, sentence: String, act: Option<String>) -> Attention {
    Attention { subject: path.to_owned(), cause: "stray-file".to_owned(), sentence, act }
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

/// Failures before waits, and waits before causes that do not stop anything.
#[expect(clippy::wildcard_enum_match_arm, reason = "everything else is a wait")]
fn rank(why: &Why) -> u8 {
    match &why.cause {
        it if it.failure().is_some() => 0,
        Cause::Site(SiteCause::FileRefused { .. })
        | Cause::Central(CentralCause::Conflict { .. })
        | Cause::Fit(FitCause::NothingFits { .. }) => 0,
        Cause::Central(CentralCause::SiteSilent { .. })
        | Cause::Node(NodeCause::NodeNotReady { .. }) => 1,
        Cause::Node(NodeCause::Stale { .. })
        | Cause::Fit(FitCause::LostEligibility { .. })
        | Cause::Node(NodeCause::NodeCordoned { .. }) => 3,
        _ => 2,
    }
}
