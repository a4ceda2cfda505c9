//! A commit wakes the sites whose part it changes, and is silent about nothing.

use colony_api::path::{GIT_CURRENT, GIT_HEADER};
use colony_api::request::{DeployRequest, SiteAdd};
use colony_wfm::Answer;
use futures_util::future::join_all;
use http::Method;

use crate::repository::git_http::{clone, git};
use crate::support::{Hub, Lo, hello};

#[tokio::test]
async fn a_commit_wakes_only_the_sites_whose_part_it_changes() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let home = hub.site(&["a"]).await;
    let plant = site(&hub, "plant").await;
    deploy(&hub, "home").await;
    let first = hub.event("committed", 0).await;
    let start = head(&home).await;
    assert!(said(&home, &start).await.1, "it has what there is");

    let (waiting, asked) = (plant.link.clone(), start.clone());
    let path = format!("/api/v1/sites/plant/hints?head={asked}");
    let incarnation = plant.joined.incarnation.to_string();
    let poll = tokio::spawn(async move {
        let headers = [("colony-incarnation", incarnation.as_str()), ("prefer", "wait=20")];
        let time = std::time::Duration::from_secs(30);
        waiting.send(Method::GET, &path, &headers, bytes::Bytes::new(), 1 << 20, time).await
    });
    change(&hub, "home", "Hi").await;
    let second = hub.event("committed", first.position).await;
    let between = head(&home).await;
    deploy(&hub, "plant").await;
    hub.event("committed", second.position).await;
    let end = head(&home).await;

    let answer = poll.await.expect("no panic").expect("an answer");
    assert_eq!(new_head(&answer), Some(end.clone()), "the first commit did not concern it");
    assert_eq!(said(&plant, &between).await, (Some(end.clone()), false));
    assert_eq!(said(&home, &between).await, (None, true), "the last one does not concern home");
    assert_eq!(said(&home, &start).await, (Some(end.clone()), false));
    let unknown = "0123456789012345678901234567890123456789";
    assert_eq!(said(&home, unknown).await, (Some(end), false), "it cannot be compared");
    hub.stop().await;
}

#[tokio::test]
async fn orders_reach_a_site_by_the_hundred() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let lo = hub.site(&["a"]).await;
    let order = || hub.send(Method::POST, "/api/v1/nodes/home/a/cordon", "{}");
    for answer in join_all((0..=100).map(|_| order())).await {
        assert!(answer.status.is_success(), "{answer:?}");
    }
    let first = lo.hints("").await.expect("orders").commands;
    assert_eq!(first.len(), 100);
    let last = first.last().and_then(|it| it.number).expect("a number");
    let rest = lo.hints(&format!("command={last}")).await.expect("orders").commands;
    assert_eq!(rest.len(), 1);
    hub.stop().await;
}

#[tokio::test]
async fn a_push_by_hand_concerns_the_sites_whose_files_it_changes() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let home = hub.site(&["a"]).await;
    let plant = site(&hub, "plant").await;
    let work = clone(&hub, dir.path()).await;
    for (file, concerned) in [
        ("README.md", [false, false]),
        ("sites/plant.yaml", [false, true]),
        ("deployments/home/notes.txt", [true, false]),
        ("deployments/nowhere/x.yaml", [false, false]),
    ] {
        let before = head(&home).await;
        std::fs::create_dir_all(work.join(file).parent().expect("a folder")).expect("a folder");
        std::fs::write(work.join(file), "labels: {}\n").expect("a file");
        git(&work, &["add", "."]).await;
        git(&work, &["commit", "-qm", file]).await;
        git(&work, &["push", "-q"]).await;
        for (lo, concerned) in [&home, &plant].into_iter().zip(concerned) {
            assert_eq!(said(lo, &before).await.0.is_some(), concerned, "{file}");
        }
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_file_that_no_site_reads_is_shown_and_a_note_is_no_finding() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let work = clone(&hub, dir.path()).await;
    for file in
        ["deployments/nowhere/pump.yaml", "deployments/fan.yaml", "deployments/home/README.md"]
    {
        std::fs::create_dir_all(work.join(file).parent().expect("a folder")).expect("a folder");
        std::fs::write(work.join(file), "x: 1\n").expect("a file");
    }
    git(&work, &["add", "."]).await;
    git(&work, &["commit", "-qm", "strays"]).await;
    git(&work, &["push", "-q"]).await;
    lo.follow().await;

    let status = hub.client.status().await.expect("a status");

    let shown: Vec<String> =
        status.attention.iter().map(|it| format!("{}: {}", it.subject, it.sentence)).collect();
    assert_eq!(
        shown,
        [
            "deployments/fan.yaml: nothing reads this file: expected deployments/<site>/<name>.yaml",
            "deployments/nowhere/pump.yaml: nothing reads this file: there is no site `nowhere`",
        ]
    );
    let why = hub.client.fleet_why().await.expect("an answer");
    assert!(why.summary.ends_with("files in Git that no site reads: 2"), "{}", why.summary);
    hub.stop().await;
}

async fn site(hub: &Hub, name: &str) -> Lo {
    let add = SiteAdd { name: name.to_owned(), ..SiteAdd::default() };
    let invite = hub.client.site_add(&add).await.expect("a site");
    Lo::join(hub, &invite.token, false).await.expect("it joins")
}

async fn deploy(hub: &Hub, site: &str) {
    let request = DeployRequest { sites: vec![site.to_owned()], ..hello("1.0") };
    assert!(hub.client.deploy(&request).await.expect("a plan").accepted);
}

async fn change(hub: &Hub, site: &str, greeting: &str) {
    let parameters = [("greeting".to_owned(), greeting.into())].into_iter().collect();
    let request = DeployRequest { sites: vec![site.to_owned()], parameters, ..hello("1.0") };
    assert!(hub.client.deploy(&request).await.expect("a plan").accepted);
}

/// Where the branch stands, as a site hears that has nothing.
async fn head(lo: &Lo) -> String {
    new_head(&ask(lo, "").await).expect("a head")
}

/// The answer to a site that has this commit: the new head, and whether it need not ask Git.
async fn said(lo: &Lo, have: &str) -> (Option<String>, bool) {
    let answer = ask(lo, &format!("?head={have}")).await;
    let current = answer.headers.get(GIT_HEADER).is_some_and(|it| it == GIT_CURRENT);
    (new_head(&answer), current)
}

async fn ask(lo: &Lo, query: &str) -> Answer {
    let path = format!("/api/v1/sites/{}/hints{query}", lo.joined.site);
    let incarnation = lo.joined.incarnation.to_string();
    let headers = [("colony-incarnation", incarnation.as_str()), ("prefer", "wait=0")];
    lo.send(Method::GET, &path, &headers, "").await
}

fn new_head(answer: &Answer) -> Option<String> {
    if answer.status == 304 {
        return None;
    }
    let hints: colony_api::site::Hints = serde_json::from_slice(&answer.body).expect("hints");
    hints.head.map(|it| it.to_string())
}
