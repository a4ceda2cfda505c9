//! Overruled changes: another author changed a file in Git after CO did, so CO
//! no longer expects its own content there, and drops its change.

use colony_core::event::CentralEvent;
use colony_core::fleet::CentralChange;
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_store::Write;

use crate::brain::{Brain, own_event};
use crate::clock;
use crate::repo::{Repo, path};

/// The content that Git must hold for a change of CO to be in force; `None` as
/// the content is a file that does not exist.
struct ExpectedContent {
    site: SiteName,
    name: DeploymentName,
    blob: Option<BlobId>,
}

/// Drops every change whose file has another content in Git.
pub(super) async fn drop_overruled_changes(brain: &Brain, repo: &Repo) -> anyhow::Result<()> {
    let expected = expected_contents(brain).await?;
    if expected.is_empty() {
        return Ok(());
    }
    let overruled = repo
        .call("compare files", move |git| {
            let paths: Vec<String> = expected.iter().map(|it| path(&it.site, &it.name)).collect();
            let found = git.blobs_at(&paths)?;
            let pairs = expected.into_iter().zip(found);
            Ok(pairs.filter(|(expected, found)| expected.blob != *found).collect::<Vec<_>>())
        })
        .await?;
    for (expected, found) in overruled {
        drop_overruled_change(brain, expected, found).await?;
    }
    Ok(())
}

async fn expected_contents(brain: &Brain) -> anyhow::Result<Vec<ExpectedContent>> {
    let fleet = brain.read().await?;
    let mut all = Vec::new();
    for (site, view) in fleet.sites() {
        for (name, change) in &view.central_changes {
            if let Some(blob) = expected_content(change) {
                let (site, name, blob) = (site.clone(), name.clone(), blob.clone());
                all.push(ExpectedContent { site, name, blob });
            }
        }
    }
    Ok(all)
}

/// The content of the file as long as the change is not overruled; `None` if
/// that does not matter.
fn expected_content(change: &CentralChange) -> Option<&Option<BlobId>> {
    match change {
        CentralChange::Committed { blob, .. } => Some(blob),
        // Nothing was written: what CO found, or had expected, stays until
        // another author changes it.
        CentralChange::Conflict { found: blob, .. }
        | CentralChange::Refused { expected: blob, .. } => Some(blob),
        // A planned one is not in Git yet. An accepted one ends when the site
        // accepts something else, which it reports.
        CentralChange::Planned { .. } | CentralChange::Accepted { .. } => None,
    }
}

async fn drop_overruled_change(
    brain: &Brain,
    ExpectedContent { site, name, blob: expected }: ExpectedContent,
    found: Option<BlobId>,
) -> anyhow::Result<()> {
    let now = clock::wall();
    brain
        .write(|fleet| {
            // The change may have been accepted or planned again since it was
            // compared.
            let change = fleet.site(&site).and_then(|it| it.central_changes.get(&name));
            if change.and_then(expected_content) != Some(&expected) {
                return Ok(((), Write::default()));
            }
            fleet.change_dropped(&site, &name)?;
            let path = path(&site, &name);
            let event = CentralEvent::Overruled { path, wished: expected, found };
            // The author of the commit is not known here: the actor is `git`.
            let event = own_event(&event, "git", now, (Some(&site), Some(&name)));
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
    fn change_is_in_force_while_git_holds_its_blob_and_before_it_is_written() {
        let (git, since) = (commit_id(1), Timestamp(0));
        let (expected, found) = (Some(blob("wished")), Some(blob("found")));
        let committed = |blob| CentralChange::Committed { git: git.clone(), blob, since };
        for (change, expected) in [
            (committed(expected.clone()), Some(&expected)),
            (committed(None), Some(&None)),
            (
                CentralChange::Conflict {
                    expected: expected.clone(),
                    found: found.clone(),
                    diff: String::new(),
                    since,
                },
                Some(&found),
            ),
            (
                CentralChange::Refused { expected: expected.clone(), reason: String::new(), since },
                Some(&expected),
            ),
            (CentralChange::Planned { since }, None),
            (CentralChange::Accepted { git: git.clone(), blob: expected.clone(), since }, None),
        ] {
            assert_eq!(expected_content(&change), expected, "{change:?}");
        }
    }

    #[tokio::test]
    async fn only_an_overruled_change_is_dropped_and_with_an_event() {
        let dir = tempfile::tempdir().expect("a folder");
        let app = App::with_home(dir.path()).await;
        let expected = commit_files(&app, &[("edited", "a"), ("kept", "a")]).await;
        let gone: DeploymentName = "gone".parse().expect("a name");
        let head = expected.head.clone().expect("a commit");
        let mut plant = Plant::new();
        plant.deploy(&Application::new("gone", "1.0.0"));
        change(&app, |fleet| fleet.apply(&home(), &plant.events, Timestamp(0)).map(drop)).await;
        change(&app, |fleet| fleet.change_committed(&home(), &gone, head, None, Timestamp(0)))
            .await;
        let before = expected.done[0].1.clone();
        let found = write(&app, &[("edited", "b", before.clone())]).await.done[0].1.clone();

        drop_overruled_changes(&app.brain, &app.repo).await.expect("Git answers");

        assert_eq!(changes(&app), "gone kept", "the deletion is still wanted");
        let filter = EventFilter { kind: Some("overruled".to_owned()), ..EventFilter::default() };
        let events = app.brain.store().events(&filter, 0, 10).await.expect("events");
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.actor.as_str(), event.deployment.as_deref()), ("git", Some("edited")));
        let path = "deployments/home/edited.yaml";
        let body = serde_json::json!({"path": path, "wished": before, "found": found});
        assert_eq!(event.body, body);
    }

    #[tokio::test]
    async fn change_that_was_planned_again_since_it_was_compared_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let app = App::with_home(dir.path()).await;
        let name: DeploymentName = "hello".parse().expect("a name");
        let expected = commit_files(&app, &[("hello", "a")]).await.done[0].1.clone();
        change(&app, |fleet| fleet.change_planned(&home(), &name, Timestamp(1))).await;

        let compared = ExpectedContent { site: home(), name, blob: expected };
        drop_overruled_change(&app.brain, compared, None).await.expect("stored");

        assert_eq!(changes(&app), "hello");
    }

    /// Writes files and records them as changes of CO.
    async fn commit_files(app: &App, files: &[(&str, &str)]) -> Written {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, *text, None)).collect();
        let written = write(app, &files).await;
        let head = written.head.clone().expect("a commit");
        for (file, done) in files.iter().zip(&written.done) {
            let (name, blob) = (file.0.parse().expect("a name"), done.1.clone());
            let head = head.clone();
            change(app, |fleet| fleet.change_committed(&home(), &name, head, blob, Timestamp(0)))
                .await;
        }
        written
    }

    async fn write(app: &App, files: &[(&str, &str, Option<BlobId>)]) -> Written {
        let edits = files.iter().map(|(name, text, expected)| Edit {
            path: path(&home(), &name.parse().expect("a name")),
            expected: expected.clone(),
            text: Some((*text).to_owned()),
            only_with: None,
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

    fn changes(app: &App) -> String {
        let fleet = app.brain.snapshot();
        let names = fleet.site(&home()).into_iter().flat_map(|it| it.central_changes.keys());
        names.map(DeploymentName::as_str).collect::<Vec<_>>().join(" ")
    }

    fn home() -> SiteName {
        "home".parse().expect("a name")
    }
}
