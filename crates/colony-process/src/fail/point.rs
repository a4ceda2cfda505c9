//! Every failpoint by name, with the role that reaches it.

/// The role of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Central,
    Local,
    Node,
}

/// Passes every point to a macro: `name Variant Role "what has happened";` for each.
/// The suite makes a test of each, so none is forgotten.
#[macro_export]
macro_rules! with_points {
    ($then:ident) => {
        $then! {
            node_join_key_stored NodeJoinKeyStored Node "the key to join with is kept, the site is not asked";
            node_join_answered NodeJoinAnswered Node "the site let the node in, nothing of it is kept";
            node_join_half_stored NodeJoinHalfStored Node "where the site is is kept, the certificate is not";
            node_join_stored NodeJoinStored Node "the identity is kept";
            node_manifest_fetched NodeManifestFetched Node "a manifest and its documents came, no step was taken";
            node_step_decided NodeStepDecided Node "a step is decided, nothing of it is in the journal";
            node_journal_appended NodeJournalAppended Node "a step is in the journal, not yet synced";
            node_journal_synced NodeJournalSynced Node "a step is on disk, nothing followed from it";
            node_journal_rewritten NodeJournalRewritten Node "a compacted journal is written beside the old one";
            node_journal_replaced NodeJournalReplaced Node "the new journal took the place of the old one";
            node_action_begun NodeActionBegun Node "an action is about to begin";
            node_action_ended NodeActionEnded Node "the engine did what it was asked, no step was taken";
            node_report_sent NodeReportSent Node "the site took a report, the node has not noted it";
            node_report_noted NodeReportNoted Node "the node noted that a report was taken";
            node_renew_answered NodeRenewAnswered Node "a renewed certificate came, nothing is kept";
            node_renew_stored NodeRenewStored Node "a renewed certificate is kept, not yet used";

            local_join_key_stored LocalJoinKeyStored Local "the key to join with is stored, no request was sent";
            local_join_answered LocalJoinAnswered Local "the fleet let the site in, nothing of it is kept";
            local_join_half_stored LocalJoinHalfStored Local "the certificate is kept, the membership is not";
            local_join_stored LocalJoinStored Local "the membership is kept";
            local_authority_made LocalAuthorityMade Local "the site's own authority is kept";
            local_seed_fetched LocalSeedFetched Local "the seed came, no step was taken";
            local_step_decided LocalStepDecided Local "a step is written, its transaction is open";
            local_step_stored LocalStepStored Local "a step is stored, no caller was answered or woken";
            local_git_fetched LocalGitFetched Local "commits were fetched, no step was taken";
            local_git_taken LocalGitTaken Local "a commit was taken";
            local_poll_answered LocalPollAnswered Local "a poll is about to be answered with a manifest";
            local_document_answered LocalDocumentAnswered Local "a document is about to be handed out";
            local_report_stored LocalReportStored Local "a report of a node is on disk, the node was not answered";
            local_token_used LocalTokenUsed Local "the token of a node is spent and noted, no certificate is made";
            local_node_issued LocalNodeIssued Local "the certificate of a node is noted, the site does not know the node";
            local_node_admitted LocalNodeAdmitted Local "the site knows the node, the node was not answered";
            local_events_read LocalEventsRead Local "events are about to be sent";
            local_events_taken LocalEventsTaken Local "the fleet took events, the site has not noted it";
            local_events_noted LocalEventsNoted Local "the site noted that events were taken";
            local_order_done LocalOrderDone Local "an order is executed and not reported";
            local_node_retired LocalNodeRetired Local "a node is marked as retired and not reported";
            local_renew_answered LocalRenewAnswered Local "a renewed certificate came, nothing is kept";
            local_renew_stored LocalRenewStored Local "a renewed certificate is kept";

            central_authority_made CentralAuthorityMade Central "the fleet's authority is kept";
            central_token_key_made CentralTokenKeyMade Central "the key of invitations is kept, there is no certificate";
            central_server_half_stored CentralServerHalfStored Central "the port's certificate is stored, its names are not";
            central_admin_stored CentralAdminStored Central "the first token is in the database, not in its file";
            central_commit_open CentralCommitOpen Central "a write is made, its transaction is open";
            central_commit_done CentralCommitDone Central "a write is stored, no caller was answered or woken";
            central_join_signed CentralJoinSigned Central "a site's certificate is signed, its token is not spent";
            central_join_stored CentralJoinStored Central "a site's token is spent, the site was not answered";
            central_batch_stored CentralBatchStored Central "a batch of events is on disk, the site was not answered";
            central_report_stored CentralReportStored Central "how a site is is kept, the site was not answered";
            central_token_stored CentralTokenStored Central "an operator's token is stored, its secret was not returned";
            central_packages_stored CentralPackagesStored Central "the packages of a registry are in the catalog, the operator was not answered";
            central_change_queued CentralChangeQueued Central "a change is queued, the operator was not answered";
            central_order_stored CentralOrderStored Central "an order is on disk, the operator was not answered";
            central_objects_written CentralObjectsWritten Central "the objects of a commit are on disk, the branch did not move";
            central_branch_locked CentralBranchLocked Central "the branch is locked, it did not move";
            central_branch_moved CentralBranchMoved Central "the branch moved and this was not recorded";
            central_push_prepared CentralPushPrepared Central "a commit is made, it is not pushed";
            central_push_done CentralPushDone Central "a commit is pushed, that is not noted";
            central_git_written CentralGitWritten Central "a change is in Git, that is not recorded";
            central_git_recorded CentralGitRecorded Central "a change is recorded as committed";
            central_revert_queued CentralRevertQueued Central "the revert of a rollback is queued";
            central_renew_issued CentralRenewIssued Central "a site's next certificate is signed, it was not answered";
            central_backup_copied CentralBackupCopied Central "everything is copied aside, there is no backup";
            central_restore_rewound CentralRestoreRewound Central "everything is restored aside, nothing is in its place";
        }
    };
}

macro_rules! declare {
    ($($name:ident $variant:ident $role:ident $what:literal;)*) => {
        /// Something a role has just done or is about to do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Point {
            $(#[doc = $what] $variant,)*
        }

        impl Point {
            pub const ALL: &'static [Point] = &[$(Point::$variant),*];

            /// As `COLONY_FAILPOINT` spells it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Point::$variant => stringify!($name),)*
                }
            }

            pub fn role(self) -> Role {
                match self {
                    $(Point::$variant => Role::$role,)*
                }
            }

            /// What has happened when a process reaches the point.
            pub fn what(self) -> &'static str {
                match self {
                    $(Point::$variant => $what,)*
                }
            }
        }
    };
}

with_points!(declare);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_begin_with_their_role() {
        let names: BTreeSet<&str> = Point::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Point::ALL.len());
        for point in Point::ALL {
            let role = format!("{:?}_", point.role()).to_lowercase();
            assert!(point.name().starts_with(&role), "{point:?}");
        }
    }
}
