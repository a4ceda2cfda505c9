//! A file somebody else wrote after CO did: CO's wish is over.

use colony_core::event::CentralEvent;
use colony_core::fleet::Target;
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_store::Write;

use crate::brain::{Brain, own_event};
use crate::clock;
use crate::repo::{Repo, path};

/// Lets go of every wish Git no longer holds.
pub(super) async fn let_go(brain: &Brain, repo: &Repo) -> anyhow::Result<()> {
    let wishes = wishes(brain).await?;
    if wishes.is_empty() {
        return Ok(());
    }
    let over = repo
        .call("compare files", move |git| {
            let paths: Vec<String> = wishes.iter().map(|it| path(&it.0, &it.1)).collect();
            let found = git.blobs_at(&paths)?;
            let pairs = wishes.into_iter().zip(found);
            let over = pairs.filter(|(wish, found)| wish.2 != *found);
            Ok(over
                .map(|((site, name, blob), found)| (site, name, blob, found))
                .collect::<Vec<_>>())
        })
        .await?;
    for (site, name, wished, found) in over {
        clear(brain, &site, &name, (wished, found)).await?;
    }
    Ok(())
}

type Wish = (SiteName, DeploymentName, Option<BlobId>);

/// What Git should hold for CO's record to stand.
async fn wishes(brain: &Brain) -> anyhow::Result<Vec<Wish>> {
    let fleet = brain.read().await?;
    let mut wishes = Vec::new();
    for (site, view) in fleet.sites() {
        for (name, target) in &view.targets {
            if let Some(blob) = held_while_it_stands(target) {
                wishes.push((site.clone(), name.clone(), blob.clone()));
            }
        }
    }
    Ok(wishes)
}

/// What the file holds as long as the record stands.
fn held_while_it_stands(target: &Target) -> Option<&Option<BlobId>> {
    match target {
        Target::Committed { blob, .. }
        | Target::Conflict { found: blob, .. }
        | Target::Refused { expected: blob, .. } => Some(blob),
        Target::Planned { .. } | Target::Accepted { .. } => None,
    }
}

async fn clear(
    brain: &Brain,
    site: &SiteName,
    name: &DeploymentName,
    (wished, found): (Option<BlobId>, Option<BlobId>),
) -> anyhow::Result<()> {
    let now = clock::wall();
    brain
        .write(|fleet| {
            // It may have been taken, or planned again, since it was compared.
            let stands = fleet.site(site).and_then(|it| it.targets.get(name));
            if stands.and_then(held_while_it_stands) != Some(&wished) {
                return Ok(((), Write::default()));
            }
            fleet.target_cleared(site, name)?;
            let event = CentralEvent::Overruled { path: path(site, name), wished, found };
            let event = own_event(&event, "git", now, (Some(site), Some(name)));
            Ok(((), Write { events: vec![event], ..Write::default() }))
        })
        .await
}
