//! What a fleet is doing when a role dies: for every point the story that
//! comes by it.

mod begin;
pub(crate) mod deploy;
mod keep;
mod renew;

use colony_process::fail::Point;

/// Tells the story of the point.
pub(crate) fn tell(point: Point) {
    match point {
        Point::CentralAuthorityMade
        | Point::CentralTokenKeyMade
        | Point::CentralServerHalfStored
        | Point::CentralAdminStored => begin::central(point),
        Point::LocalJoinKeyStored
        | Point::LocalJoinAnswered
        | Point::LocalJoinHalfStored
        | Point::LocalJoinStored
        | Point::LocalAuthorityMade
        | Point::LocalSeedFetched
        | Point::CentralJoinSigned
        | Point::CentralJoinStored => begin::site(point),
        Point::NodeJoinKeyStored
        | Point::NodeJoinAnswered
        | Point::NodeJoinHalfStored
        | Point::NodeJoinStored
        | Point::LocalTokenUsed
        | Point::LocalNodeIssued
        | Point::LocalNodeAdmitted => begin::node(point),
        Point::NodeStepDecided
        | Point::NodeJournalAppended
        | Point::NodeJournalSynced
        | Point::LocalStepDecided
        | Point::LocalStepStored
        | Point::CentralCommitOpen
        | Point::CentralCommitDone => deploy::again_and_again(point),
        Point::NodeManifestFetched
        | Point::NodeActionBegun
        | Point::NodeActionEnded
        | Point::NodeReportSent
        | Point::NodeReportNoted
        | Point::LocalGitFetched
        | Point::LocalGitTaken
        | Point::LocalPollAnswered
        | Point::LocalDocumentAnswered
        | Point::LocalReportStored
        | Point::LocalEventsRead
        | Point::LocalEventsTaken
        | Point::LocalEventsNoted
        | Point::CentralBatchStored
        | Point::CentralChangeQueued
        | Point::CentralObjectsWritten
        | Point::CentralBranchLocked
        | Point::CentralBranchMoved
        | Point::CentralGitWritten
        | Point::CentralGitRecorded => deploy::once(point),
        Point::NodeJournalRewritten | Point::NodeJournalReplaced => deploy::for_long(point),
        Point::CentralPushPrepared | Point::CentralPushDone => deploy::elsewhere(point),
        Point::CentralRevertQueued => deploy::back(point),
        Point::LocalOrderDone | Point::CentralOrderStored => deploy::order(point),
        Point::LocalNodeRetired => keep::retirement(point),
        Point::CentralReportStored => keep::report(point),
        Point::CentralTokenStored => keep::token(point),
        Point::CentralPackagesStored => keep::packages(point),
        Point::CentralBackupCopied => keep::backup(point),
        Point::CentralRestoreRewound => keep::restore(point),
        Point::NodeRenewAnswered | Point::NodeRenewStored => renew::node(point),
        Point::LocalRenewAnswered | Point::LocalRenewStored | Point::CentralRenewIssued => {
            renew::site(point);
        }
    }
}
