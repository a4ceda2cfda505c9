//! The commits of a deployment.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use colony_api::view::{HistoryEntry, HistoryView};
use colony_core::document::FileFacts;
use colony_core::id::{DeploymentName, GitRevision, SiteName};
use colony_core::plan::difference;
use colony_core::time::Timestamp;
use colony_git::{Commit, Deployments, Error};

use super::deployment;
use crate::app::App;
use crate::auth::{Operator, Redaction};
use crate::fault::Fault;
use crate::repo::path;

/// How many commits of a file are shown.
const HISTORY: usize = 100;

/// The commits of a deployment, the newest first.
pub(crate) async fn history(
    app: &App,
    operator: &Operator,
    name: &DeploymentName,
) -> Result<HistoryView, Fault> {
    let sites: Vec<SiteName> = {
        let fleet = app.brain.read().await?;
        fleet.sites().map(|it| it.0.clone()).filter(|it| operator.sees(it)).collect()
    };
    let handle = name.clone();
    let (commits, ranks) = app
        .repo
        .call("read the history", move |git| {
            let mut commits = Vec::new();
            for site in sites {
                let found = git.history(&path(&site, &handle), HISTORY)?;
                commits.extend(found.into_iter().map(|it| (site.clone(), it)));
            }
            let ranks = ranks(git, &commits)?;
            Ok((commits, ranks))
        })
        .await?;
    // A deployment that is accepted and not committed yet exists, without a
    // history.
    if commits.is_empty() {
        deployment(app, operator, name).await?;
    }
    let blobs = commits.iter().filter_map(|it| it.1.blob.clone()).collect();
    let texts = app.repo.texts(blobs).await?;
    let text = |it: &Commit| it.blob.as_ref().and_then(|it| texts.get(it)).map(String::as_str);
    let redaction = Redaction::new(&app.brain.snapshot(), operator);
    let behind = commits.iter().skip(1).map(Some).chain([None]);
    let entry = |((site, it), behind): (&(SiteName, Commit), Option<&(SiteName, Commit)>)| {
        let before = behind.filter(|it| it.0 == *site).and_then(|it| text(&it.1));
        HistoryEntry {
            commit: it.revision.clone(),
            at: Timestamp(u64::try_from(it.at_ms).unwrap_or(0)),
            site: site.clone(),
            author: it.author.clone(),
            subject: redaction.text(&it.subject),
            version: text(it).and_then(FileFacts::read).map(|it| it.version),
            removed: it.blob.is_none(),
            changes: difference(before, text(it)),
        }
    };
    let mut entries: Vec<HistoryEntry> = commits.iter().zip(behind).map(entry).collect();
    entries.sort_by_key(|it| ranks.get(&it.commit).copied());
    Ok(HistoryView { name: name.clone(), entries })
}

/// The place of each commit in the history, the newest first. Git's times have
/// a resolution of one second: within one, ancestry decides.
fn ranks(
    git: &Deployments,
    commits: &[(SiteName, Commit)],
) -> Result<BTreeMap<GitRevision, usize>, Error> {
    let mut order: Vec<(i64, &GitRevision)> =
        commits.iter().map(|it| (it.1.at_ms, &it.1.revision)).collect();
    order.sort_by_key(|it| (Reverse(it.0), it.1));
    order.dedup();
    for second in order.chunk_by_mut(|a, b| a.0 == b.0) {
        for end in 1..second.len() {
            let mut at = end;
            while at > 0 && git.is_ancestor(second[at - 1].1, second[at].1)? {
                second.swap(at - 1, at);
                at -= 1;
            }
        }
    }
    Ok(order.into_iter().enumerate().map(|(rank, it)| (it.1.clone(), rank)).collect())
}
