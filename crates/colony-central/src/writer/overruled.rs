//! Overruled targets: another author changed a file after CO did, so CO's
//! target is dropped.

use colony_core::event::CentralEvent;
use colony_core::fleet::Target;
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_store::Write;

use crate::brain::{Brain, own_event};
use crate::clock;
use crate::repo::{Repo, path};

/// Drops every target that Git no longer holds.
pub(super) async fn clear_overruled_targets(brain: &Brain, repo: &Repo) -> anyhow::Result<()> {
    let expected_contents = expected_contents(brain).await?;
    if expected_contents.is_empty() {
        return Ok(());
    }
    let over = repo
        .call("compare files", move |git| {
            let paths: Vec<String> =
                expected_contents.iter().map(|it| path(&it.0, &it.1)).collect();
            let found = git.blobs_at(&paths)?;
            let pairs = expected_contents.into_iter().zip(found);
            let over = pairs.filter(|(target, found)| target.2 != *found);
            Ok(over
                .map(|((site, name, blob), found)| (site, name, blob, found))
                .collect::<Vec<_>>())
        })
        .await?;
    for (site, name, expected, found) in over {
        clear(brain, &site, &name, (expected, found)).await?;
    }
    Ok(())
}

type OverruledTarget = (SiteName, DeploymentName, Option<BlobId>);

/// The targets, with the content that Git must hold for them to stand.
async fn expected_contents(brain: &Brain) -> anyhow::Result<Vec<OverruledTarget>> {
    let fleet = brain.read().await?;
    let mut expected_contents = Vec::new();
    for (site, view) in fleet.sites() {
        for (name, target) in &view.targets {
            if let Some(blob) = held_while_it_stands(target) {
                expected_contents.push((site.clone(), name.clone(), blob.clone()));
            }
        }
    }
    Ok(expected_contents)
}

/// The content of the file as long as the target stands.
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
    (expected, found): (Option<BlobId>, Option<BlobId>),
) -> anyhow::Result<()> {
    let now = clock::wall();
    brain
        .write(|fleet| {
            // The target may have been accepted or planned again since it was
            // compared.
            let stands = fleet.site(site).and_then(|it| it.targets.get(name));
            if stands.and_then(held_while_it_stands) != Some(&expected) {
                return Ok(((), Write::default()));
            }
            fleet.target_cleared(site, name)?;
            let event = CentralEvent::Overruled { path: path(site, name), wished: expected, found };
            let event = own_event(&event, "git", now, (Some(site), Some(name)));
            Ok(((), Write { events: vec![event], ..Write::default() }))
        })
        .await
}

#[cfg(test)]
mod tests {
    use colony_core::fleet::Fleet;
    use colony_core::time::Timestamp;
    use colony_git::{Batch, Edit, Written};
    use colony_store::EventFilter;
    use colony_testkit::{App as Application, Plant, blob, commit_id};

    use super::*;
    use crate::app::App;

    #[test]
    fn record_stands_while_git_holds_its_blob_and_before_it_is_written() {
        let (git, since) = (commit_id(1), Timestamp(0));
        let (expected, found) = (Some(blob("wished")), Some(blob("found")));
        let committed = |blob| Target::Committed { git: git.clone(), blob, since };
        for (target, expected) in [
            (committed(expected.clone()), Some(&expected)),
            (committed(None), Some(&None)),
            (
                Target::Conflict {
                    expected: expected.clone(),
                    found: found.clone(),
                    diff: String::new(),
                    since,
                },
                Some(&found),
            ),
            (
                Target::Refused { expected: expected.clone(), reason: String::new(), since },
                Some(&expected),
            ),
            (Target::Planned { since }, None),
            (Target::Accepted { git: git.clone(), blob: expected.clone(), since }, None),
        ] {
            assert_eq!(held_while_it_stands(&target), expected, "{target:?}");
        }
    }

    #[tokio::test]
    async fn only_a_wish_that_another_author_overruled_is_cleared_and_with_an_event() {
        let dir = tempfile::tempdir().expect("a folder");
        let app = App::with_home(dir.path()).await;
        let expected = commit_files(&app, &[("edited", "a"), ("kept", "a")]).await;
        let gone: DeploymentName = "gone".parse().expect("a name");
        let head = expected.head.clone().expect("a commit");
        let mut plant = Plant::new();
        plant.deploy(&Application::new("gone", "1.0.0"));
        change(&app, |fleet| fleet.apply(&home(), &plant.events, Timestamp(0)).map(drop)).await;
        change(&app, |fleet| fleet.target_committed(&home(), &gone, head, None, Timestamp(0)))
            .await;
        let before = expected.done[0].1.clone();
        let found = write(&app, &[("edited", "b", before.clone())]).await.done[0].1.clone();

        clear_overruled_targets(&app.brain, &app.repo).await.expect("Git answers");

        assert_eq!(targets(&app), "gone kept", "the deletion is still wanted");
        let filter = EventFilter { kind: Some("overruled".to_owned()), ..EventFilter::default() };
        let events = app.brain.store().events(&filter, 0, 10).await.expect("events");
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.actor.as_str(), event.deployment.as_deref()), ("git", Some("edited")));
        let path = "deployments/home/edited.yaml";
        let body = serde_json::json!({"path": path, "wished": before, "found": found});
        assert_eq!(event.body, body);
    }

    #[tokio::test]
    async fn wish_that_was_planned_again_since_it_was_compared_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let app = App::with_home(dir.path()).await;
        let name: DeploymentName = "hello".parse().expect("a name");
        let expected = commit_files(&app, &[("hello", "a")]).await.done[0].1.clone();
        change(&app, |fleet| fleet.target_planned(&home(), &name, Timestamp(1))).await;

        clear(&app.brain, &home(), &name, (expected, None)).await.expect("stored");

        assert_eq!(targets(&app), "hello");
    }

    /// Writes files and records them as targets of CO.
    async fn commit_files(app: &App, files: &[(&str, &str)]) -> Written {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, *text, None)).collect();
        let written = write(app, &files).await;
        let head = written.head.clone().expect("a commit");
        for (file, done) in files.iter().zip(&written.done) {
            let (name, blob) = (file.0.parse().expect("a name"), done.1.clone());
            let head = head.clone();
            change(app, |fleet| fleet.target_committed(&home(), &name, head, blob, Timestamp(0)))
                .await;
        }
        written
    }

    async fn write(app: &App, files: &[(&str, &str, Option<BlobId>)]) -> Written {
        let edits = files.iter().map(|(name, text, expected)| Edit {
            path: path(&home(), &name.parse().expect("a name")),
            expected: expected.clone(),
            text: Some((*text).to_owned()),
        });
        let (message, author) = ("a change".to_owned(), "ana".to_owned());
        let (trailers, edits) = (Vec::new(), edits.collect());
        let batch = Batch { message, trailers, author, at_unix: 0, edits };
        app.repo.call("commit", move |git| git.write(&batch)).await.expect("a commit")
    }

    async fn change<E: Into<anyhow::Error>>(
        app: &App,
        act: impl FnOnce(&mut Fleet) -> Result<(), E>,
    ) {
        let changed = app.brain.write(|fleet| {
            act(fleet).map_err(Into::into)?;
            Ok::<_, anyhow::Error>(((), Write::default()))
        });
        changed.await.expect("stored");
    }

    fn targets(app: &App) -> String {
        let fleet = app.brain.snapshot();
        let targets = fleet.site(&home()).into_iter().flat_map(|it| it.targets.keys());
        targets.map(DeploymentName::as_str).collect::<Vec<_>>().join(" ")
    }

    fn home() -> SiteName {
        "home".parse().expect("a name")
    }
}
