//! Git is written by people too: who is quicker wins, and nothing is lost.

use colony_api::request::SiteAdd;
use colony_api::view::Outcome;

use crate::repository::git_http::{clone, git};
use crate::support::{Hub, hello};

#[tokio::test]
async fn a_hand_edit_is_deployed_and_an_update_on_top_of_it_keeps_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    hub.end().await;

    let work = clone(&hub, dir.path()).await;
    let file = work.join("deployments/home/hello.yaml");
    let text = std::fs::read_to_string(&file).expect("the file");
    let text = text.replace("colony-version: '1.0'", "colony-version: by-hand");
    let text = text.replace("colony-version: \"1.0\"", "colony-version: by-hand");
    assert!(text.contains("by-hand"), "{text}");
    std::fs::write(&file, text).expect("an edit");
    git(&work, &["commit", "-qam", "by hand"]).await;
    git(&work, &["push", "-q"]).await;
    lo.follow().await;

    let view = hub.end().await;
    hub.check(&view, Outcome::Installed, "INSTALLED by-hand");
    let by_hand = std::fs::read_to_string(work.join(".git/refs/heads/main")).expect("a branch");
    let shown = [&view.sites[0].commit, &view.sites[0].placements[0].commit];
    for commit in shown {
        let commit = commit.as_ref().map(|it| it.to_string());
        assert_eq!(commit.as_deref(), Some(by_hand.trim()), "also a commit of others is known");
    }
    let pushed = hub.event("pushed", 0).await;
    assert_eq!(pushed.actor, "admin");
    assert!(hub.client.deploy(&hello("1.1")).await.expect("a plan").accepted);
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Installed, "INSTALLED 1.1");
    hub.stop().await;
}

#[tokio::test]
async fn a_file_that_changed_behind_a_plan_is_left_alone_and_the_diff_is_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    let git_dir = crate::repository::crash::remote(dir.path());
    let hub = crate::repository::crash::with_git(dir.path(), &git_dir).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    hub.end().await;

    // Another author writes the file while the server is away for us.
    let work = dir.path().join("work");
    git(dir.path(), &["clone", "-q", &git_dir.display().to_string(), "work"]).await;
    let file = work.join("deployments/home/hello.yaml");
    let text = std::fs::read_to_string(&file).expect("the file");
    std::fs::write(&file, format!("# mine\n{text}")).expect("an edit");
    git(&work, &["commit", "-qam", "by hand"]).await;
    let away = dir.path().join("away.git");
    std::fs::rename(&git_dir, &away).expect("Git goes down");
    hub.deploy("1.1").await;
    git(&work, &["push", "-q", &away.display().to_string(), "HEAD:main"]).await;
    std::fs::rename(&away, &git_dir).expect("Git comes back");

    let event = hub.event("conflict", 0).await;
    assert!(event.sentence.contains("nothing was written"), "{}", event.sentence);
    let view = hub.end().await;
    hub.check(&view, Outcome::Failed, "FAILED: conflict at home");
    let conflict = view.sites[0].conflict.as_ref().expect("a conflict");
    assert!(conflict.diff.contains("# mine"), "{}", conflict.diff);
    lo.follow().await;
    hub.deploy("1.1").await;
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Installed, "INSTALLED 1.1");
    hub.stop().await;
}

#[tokio::test]
async fn wish_for_a_site_that_is_away_ends_when_somebody_else_writes_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let add = SiteAdd { name: "mars".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("a site");
    hub.deploy("1.0").await;
    let committed = hub.event("committed", 0).await;
    let work = clone(&hub, dir.path()).await;
    std::fs::write(work.join("deployments/mars/hello.yaml"), "# mine\n").expect("an edit");
    git(&work, &["commit", "-qam", "by hand"]).await;
    git(&work, &["push", "-q"]).await;

    let overruled = hub.event("overruled", committed.position).await;

    let about = (overruled.site.as_deref(), overruled.deployment.as_deref());
    assert_eq!(about, (Some("mars"), Some("hello")));
    hub.stop().await;
}

#[tokio::test]
async fn broken_yaml_committed_by_hand_is_a_finding_with_its_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    hub.end().await;

    let work = clone(&hub, dir.path()).await;
    std::fs::write(work.join("deployments/home/hello.yaml"), "id: [\n").expect("an edit");
    git(&work, &["commit", "-qam", "broken"]).await;
    git(&work, &["push", "-q"]).await;
    lo.follow().await;

    let view = hub.end().await;
    let expected = "the file in Git cannot be used: deployments/home/hello.yaml:";
    hub.check(&view, Outcome::Installed, expected);
    assert_eq!(view.sites[0].placements[0].state.to_string(), "INSTALLED");
    let why = hub.client.deployment_why("hello", None).await.expect("an answer");
    let reason = &why.reasons[0];
    assert_eq!(
        (reason.cause.as_str(), reason.owner.as_str()),
        ("file-refused", "author of the file in Git")
    );
    assert!(reason.since.is_some(), "{reason:?}");
    hub.deploy("1.1").await;
    lo.follow().await;
    hub.check(&hub.end().await, Outcome::Installed, "INSTALLED 1.1");
    hub.stop().await;
}
