//! The command that helps with a cause, where there is one.

use colony_core::id::{DeploymentName, SiteName};
use colony_core::why::{Cause, Subject, Why};

/// The command line to type, for the first cause of the answer.
#[expect(clippy::wildcard_enum_match_arm, reason = "most causes have no command")]
pub(super) fn of(why: &Why, site: &SiteName) -> Option<String> {
    let deployment = deployment(&why.subject);
    let of_deployment =
        |verb: &str| deployment.map(|it| format!("colony {verb} {it} --site {site}"));
    match &why.cause {
        Cause::SiteNeverJoined { site } => Some(format!("colony site invite {site}")),
        Cause::HoldSite { .. } => Some(format!("colony release --site {site}")),
        Cause::HoldDeployment { .. } => of_deployment("release"),
        Cause::RemovalHeld { .. } => Some(format!("colony release --site {site} --what removal")),
        Cause::HistoryHeld { .. } => Some(format!("colony release --site {site} --what history")),
        Cause::Quarantined { .. } | Cause::RejectedHere { .. } => {
            of_deployment("quarantine release")
        }
        Cause::AwaitsPromotion { .. } => of_deployment("deployment promote"),
        Cause::Paused { .. } => of_deployment("deployment resume"),
        Cause::WaveStopped { .. }
        | Cause::TriesUsedUp { .. }
        | Cause::RollbackRefused { .. }
        | Cause::DeleteFailed { until: None, .. } => of_deployment("deployment retry"),
        Cause::NodeCordoned { node } => Some(format!("colony node uncordon {site}/{node}")),
        Cause::NoNodes {} => Some(format!("colony node invite --site {site}")),
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
