//! Makes Git follow the sites that rolled back.

use std::collections::BTreeSet;

use colony_core::event::CentralEvent;
use colony_core::fleet::{Revert, RevertDecision, revert_decision};
use colony_core::id::BlobId;
use colony_store::{Change, ChangeEdit, Write};

use crate::brain::{Brain, own_event};
use crate::clock;
use crate::repo::{Repo, path};

/// Queues a change for every rollback Git has not followed; `false` if there
/// is none to queue.
pub(super) async fn plan(brain: &Brain, repo: &Repo) -> anyhow::Result<bool> {
    let open = brain.read().await?.reverts_open();
    if open.is_empty() {
        return Ok(false);
    }
    let queued = brain.store().changes_open().await?;
    let queued: BTreeSet<String> =
        queued.into_iter().flat_map(|it| it.edits).map(|it| it.path).collect();
    let mut planned = false;
    for revert in open.iter().filter(|it| !queued.contains(&path(&it.site, &it.name))) {
        planned |= plan_one(brain, repo, revert).await?;
    }
    Ok(planned)
}

async fn plan_one(brain: &Brain, repo: &Repo, revert: &Revert) -> anyhow::Result<bool> {
    let path = path(&revert.site, &revert.name);
    let head = repo.blob_at(path.clone()).await?;
    let good = match revert_decision(revert, head.as_ref()) {
        RevertDecision::Restore(good) => good,
        RevertDecision::Skip(reason) => {
            tracing::debug!(path, "nothing to revert: {reason}");
            return Ok(false);
        }
    };
    let texts = repo.texts(BTreeSet::from([good.clone()])).await?;
    let Some(text) = texts.get(&good) else {
        tracing::warn!(path, "Git does not have {good}, which is to be restored");
        return Ok(false);
    };
    queue(brain, repo, revert, &path, &good, text.clone()).await?;
    colony_process::fail::hit(colony_process::fail::Point::CentralRevertQueued);
    Ok(true)
}

async fn queue(
    brain: &Brain,
    repo: &Repo,
    revert: &Revert,
    path: &str,
    good: &BlobId,
    text: String,
) -> anyhow::Result<()> {
    let blobs = BTreeSet::from([good.clone(), revert.bad.blob.clone()]);
    let facts = repo.facts(blobs).await?;
    let version = |blob: &BlobId| facts.get(blob).map_or("?", |it| it.version.as_str()).to_owned();
    let (site, name, now) = (&revert.site, &revert.name, clock::wall());
    let (bad, back) = (version(&revert.bad.blob), version(good));
    let reason = revert.reason.as_deref().unwrap_or("the site rolled back");
    let message = format!("Revert {name} at {site} from {bad} to {back}: {reason}");
    let actor = revert.by.as_deref().unwrap_or("colony");
    let change = Change {
        id: uuid::Uuid::now_v7().to_string(),
        at: now,
        actor: actor.to_owned(),
        message,
        trailers: vec![
            ("Colony-Deployment".to_owned(), name.to_string()),
            ("Colony-Actor".to_owned(), actor.to_owned()),
        ],
        edits: vec![ChangeEdit {
            path: path.to_owned(),
            expected: Some(revert.bad.blob.clone()),
            text: Some(text),
            only_with: None,
        }],
    };
    let event = CentralEvent::RevertPlanned {
        from: bad,
        to: back,
        bad: revert.bad.blob.clone(),
        good: good.clone(),
    };
    let event = own_event(&event, "colony", now, (Some(site), Some(name)));
    brain
        .write(|_| {
            let write =
                Write { events: vec![event], changes_put: vec![change], ..Write::default() };
            Ok(((), write))
        })
        .await
}
