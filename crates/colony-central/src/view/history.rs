//! The commits of a deployment.

use colony_api::view::{HistoryEntry, HistoryView};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::time::Wall;

use super::deployment;
use crate::app::App;
use crate::auth::Operator;
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
    let commits = app
        .repo
        .call("read the history", move |git| {
            let mut commits = Vec::new();
            for site in sites {
                let found = git.history(&path(&site, &handle), HISTORY)?;
                commits.extend(found.into_iter().map(|it| (site.clone(), it)));
            }
            Ok(commits)
        })
        .await?;
    // Accepted and not committed yet: it is there, without a past.
    if commits.is_empty() {
        deployment(app, operator, name).await?;
    }
    let blobs = commits.iter().filter_map(|it| it.1.blob.clone()).collect();
    let versions = app.repo.facts(blobs).await?;
    let mut entries: Vec<HistoryEntry> = commits
        .into_iter()
        .map(|(site, it)| HistoryEntry {
            commit: it.revision,
            at: Wall(u64::try_from(it.at_ms).unwrap_or(0)),
            site,
            author: it.author,
            subject: it.subject,
            version: it.blob.and_then(|it| versions.get(&it).map(|it| it.version.clone())),
        })
        .collect();
    entries.sort_by_key(|it| std::cmp::Reverse(it.at));
    Ok(HistoryView { name: name.clone(), entries })
}
