//! The command that resolves a cause, where there is one.

use colony_core::id::{DeploymentName, SiteName};
use colony_core::why::{
    AttemptCause, Cause, CentralCause, NodeCause, RemovalCause, RolloutCause, SiteCause, Subject,
    VerdictCause, Why,
};

/// The command line to type, for the first cause of a reason.
#[expect(clippy::wildcard_enum_match_arm, reason = "most causes have no command")]
pub(super) fn of(why: &Why, site: &SiteName) -> Option<String> {
    let deployment = deployment(&why.subject);
    let of_deployment =
        |verb: &str| deployment.map(|it| format!("colony {verb} {it} --site {site}"));
    match &why.cause {
        Cause::Central(CentralCause::SiteNeverJoined { site }) => {
            Some(format!("colony site invite {site}"))
        }
        Cause::Site(SiteCause::HoldSite { .. }) => Some(format!("colony release --site {site}")),
        Cause::Site(SiteCause::HoldDeployment { .. }) => of_deployment("release"),
        Cause::Site(SiteCause::RemovalHeld { .. }) => {
            Some(format!("colony release --site {site} --what removal"))
        }
        Cause::Site(SiteCause::HistoryHeld { .. }) => {
            Some(format!("colony release --site {site} --what history"))
        }
        Cause::Rollout(RolloutCause::AwaitsPromotion { .. }) => of_deployment("deployment promote"),
        Cause::Rollout(RolloutCause::Paused { .. }) => of_deployment("deployment resume"),
        Cause::Verdict(VerdictCause::RolloutStopped { .. })
        | Cause::Attempt(AttemptCause::TriesUsedUp { .. })
        | Cause::Verdict(VerdictCause::RollbackRefused { .. })
        | Cause::Removal(RemovalCause::DeleteFailed { until: None, .. }) => {
            of_deployment("deployment retry")
        }
        Cause::Node(NodeCause::NodeCordoned { node }) => {
            Some(format!("colony node uncordon {site}/{node}"))
        }
        Cause::Site(SiteCause::NoNodes {}) => Some(format!("colony node invite --site {site}")),
        _ => None,
    }
}

pub(super) fn deployment(subject: &Subject) -> Option<&DeploymentName> {
    match subject {
        Subject::Deployment { deployment } | Subject::Placement { deployment, .. } => {
            Some(deployment)
        }
        Subject::Site { .. } | Subject::Node { .. } => None,
    }
}
