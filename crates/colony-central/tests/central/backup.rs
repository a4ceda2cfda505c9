//! The drill: a backup of a running role, more that happens, a restore.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use colony_api::view::Outcome;
use colony_central::{Config, backup, restore};

use crate::support::Hub;

#[tokio::test]
async fn what_happened_since_the_backup_comes_back_from_the_sites() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    lo.follow().await;
    let file = dir.path().join("fleet.tar");
    let about = backup(&config(&dir.path().join("central")), &file).await.expect("a backup");
    assert!(about.database && about.repository, "{about:?}");
    assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o600);

    lo.plant.join("b");
    lo.converge();
    lo.plant.pass(1);
    lo.push().await;
    let (before, epoch) = (hub.show().await, hub.cursor(0).await);
    let (url, versions) = (hub.url.clone(), (lo.plant.version("a"), lo.plant.version("b")));
    hub.stop().await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let data = elsewhere.path().join("central");
    restore(&config(&data), &file).await.expect("restored");

    let address = url.strip_prefix("https://").expect("a URL").parse().expect("an address");
    let hub = Hub::with(elsewhere.path(), |it| it.listen = address).await;
    assert_ne!(hub.cursor(0).await, epoch, "positions have another name");
    assert_eq!(hub.show().await.sites[0].placements.len(), 1, "b is not known yet");
    // The site sends its latest events, gets the position to continue from, and goes back.
    lo.plant.pass(1);
    lo.push().await;
    lo.push().await;
    let after = hub.show().await;
    assert_eq!(after.outcome, Outcome::Installed);
    assert_eq!(after.sites[0].placements, before.sites[0].placements);
    let now = (lo.plant.version("a"), lo.plant.version("b"));
    assert_eq!(now, versions, "no node received anything");
    hub.deploy("1.1").await;
    lo.follow().await;
    assert_eq!(hub.end().await.version.as_deref(), Some("1.1"));
    hub.stop().await;
}

#[tokio::test]
async fn orders_after_a_restore_are_above_those_before() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let file = dir.path().join("fleet.tar");
    backup(&config(&dir.path().join("central")), &file).await.expect("a backup");
    hub.client.node_cordon("home", "a").await.expect("ordered");
    lo.obey().await;
    let done = lo.plant.site.commands_done();
    let url = hub.url.clone();
    hub.stop().await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    restore(&config(&elsewhere.path().join("central")), &file).await.expect("restored");
    let address = url.strip_prefix("https://").expect("a URL").parse().expect("an address");
    let hub = Hub::with(elsewhere.path(), |it| it.listen = address).await;

    hub.client.node_uncordon("home", "a").await.expect("ordered");
    lo.obey().await;

    assert!(lo.plant.site.commands_done() > done);
    let a = "a".parse().expect("a name");
    assert!(!lo.plant.site.site_node(&a).expect("it").is_cordoned(), "it was obeyed");
    hub.stop().await;
}

#[tokio::test]
async fn what_cannot_be_done_says_why() {
    let dir = tempfile::tempdir().expect("a folder");
    let (own, file) = (config(&dir.path().join("central")), dir.path().join("fleet.tar"));
    let none = backup(&own, &file).await.expect_err("nothing is there");
    check(&none, "there is no central orchestrator in");
    Hub::start(dir.path()).await.stop().await;
    backup(&own, &file).await.expect("a backup");
    check(&backup(&own, &file).await.expect_err("it is there"), "a backup replaces nothing");
    check(&restore(&own, &file).await.expect_err("it is full"), "is not empty: move it away");
    let other = config(&dir.path().join("other"));
    std::fs::write(dir.path().join("x"), "no tar").expect("a file");
    let broken =
        restore(&other, &dir.path().join("x")).await.expect_err("the file is not a backup");
    check(&broken, "no backup");
    assert!(!other.data.exists() && !dir.path().join("other.restoring").exists());
}

#[track_caller]
fn check(error: &anyhow::Error, expected: &str) {
    assert!(format!("{error:#}").contains(expected), "{error:#}");
}

fn config(data: &Path) -> Config {
    Config::new(data.to_owned(), "127.0.0.1:0".parse().expect("an address"))
}
