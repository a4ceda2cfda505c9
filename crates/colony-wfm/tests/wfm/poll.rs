//! The manifest: held back, unchanged, with wishes, or not to be had.

use std::sync::Arc;
use std::time::Duration;

use colony_margo::Digest;
use colony_wfm::{Client, ClientAuth, ClientError, ManagerRequests, Poll, router};
use http::Method;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::support::manager::Fake;
use crate::support::{Server, Site, send};

const LONG: Duration = Duration::from_secs(30);
const NO_WAIT: Duration = Duration::ZERO;

#[tokio::test]
async fn poll_returns_on_a_change_and_not_before() {
    let world = World::start().await;
    let etag = world.etag().await;
    let poll = world.poll(Some(etag.clone()), LONG);
    world.manager.waited(2).await;
    world.manager.stir();
    world.manager.waited(3).await;
    assert!(!poll.is_finished());
    world.manager.set("two");
    let (bytes, other) = manifest(soon(poll).await);
    assert_ne!(other, Some(etag));
    assert_eq!(other, Some(format!("\"{}\"", Digest::of(&bytes))));
}

#[tokio::test]
async fn change_just_after_the_manifest_was_read_is_not_missed() {
    let world = World::start().await;
    let etag = world.etag().await;
    world.manager.change(|it| it.sudden = Some("two".into()));
    let poll = soon(world.poll(Some(etag), LONG)).await;
    assert!(matches!(poll, Poll::Manifest { .. }), "{poll:?}");
}

#[tokio::test]
async fn poll_ends_unchanged_when_its_time_is_over() {
    let world = World::start().await;
    let etag = world.etag().await;
    let begun = Instant::now();
    let poll = world.poll(Some(etag), Duration::from_secs(1)).await.unwrap();
    assert_eq!(poll, Poll::Unchanged { asks: ManagerRequests::default() });
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn poll_that_need_not_wait_is_answered_at_once() {
    let world = World::start().await;
    let etag = world.etag().await;
    let unchanged = Poll::Unchanged { asks: ManagerRequests::default() };
    assert_eq!(soon(world.poll(Some(etag), NO_WAIT)).await, unchanged);
    manifest(soon(world.poll(None, LONG)).await);
    manifest(soon(world.poll(Some("\"other\"".into()), LONG)).await);
}

#[tokio::test]
async fn wishes_end_the_wait_and_come_along() {
    let world = World::start().await;
    let etag = world.etag().await;
    let poll = world.poll(Some(etag.clone()), LONG);
    world.manager.waited(2).await;
    let asks = ManagerRequests { capabilities: true, ..ManagerRequests::default() };
    world.manager.change(|it| it.asks = asks.clone());
    assert_eq!(soon(poll).await, Poll::Unchanged { asks: asks.clone() });
    let again = soon(world.poll(None, LONG)).await;
    assert!(matches!(again, Poll::Manifest { asks: found, .. } if found == asks));
}

#[tokio::test]
async fn adopted_version_is_told() {
    let world = World::start().await;
    world.client.manifest(None, Some(7), NO_WAIT).await.unwrap();
    assert_eq!(world.manager.received(), ["n1 has Some(7)"]);
}

#[tokio::test]
async fn manager_that_is_not_ready_says_when() {
    let world = World::start().await;
    world.manager.change(|it| it.ready = false);
    let error = world.client.manifest(None, None, LONG).await.unwrap_err();
    let ClientError::Problem { problem, retry_after } = error else { panic!("{error:?}") };
    assert_eq!((problem.status, retry_after), (503, Some(Duration::from_secs(7))));
    assert!(problem.may_retry());
}

#[tokio::test]
async fn headers_are_those_of_the_specification() {
    let world = World::start().await;
    let digest = world.etag().await;
    let quoted = digest.as_str();
    check(&world, &[], "200 application/vnd.margo.manifest.v1+json private").await;
    check(&world, &[("if-none-match", quoted)], "304  private").await;
    check(&world, &[("if-none-match", "*")], "304  private").await;
    let weak = format!("\"x\", W/{quoted}");
    check(&world, &[("if-none-match", &weak)], "304  private").await;
    check(&world, &[("accept", "text/html")], "406 application/problem+json ").await;
}

struct World {
    manager: Arc<Fake>,
    client: Client,
    _server: Server,
}

impl World {
    async fn start() -> World {
        let site = Site::new("site-a.00ff");
        let manager = Arc::new(Fake::new(site.authority.clone(), "one"));
        let app = router(manager.clone());
        let server = Server::start(app, &site.server(), ClientAuth::Required).await;
        let client = Client::new(site.link(&site.node("n1"), &server));
        World { manager, client, _server: server }
    }

    /// Polls in a task of its own.
    fn poll(&self, etag: Option<String>, wait: Duration) -> JoinHandle<Poll> {
        let client = self.client.clone();
        tokio::spawn(async move { client.manifest(etag.as_deref(), None, wait).await.unwrap() })
    }

    async fn etag(&self) -> String {
        manifest(self.client.manifest(None, None, NO_WAIT).await.unwrap()).1.unwrap()
    }
}

fn manifest(poll: Poll) -> (bytes::Bytes, Option<String>) {
    match poll {
        Poll::Manifest { bytes, etag, .. } => (bytes, etag),
        Poll::Unchanged { .. } => panic!("unchanged"),
    }
}

async fn soon(poll: JoinHandle<Poll>) -> Poll {
    timeout(Duration::from_secs(5), poll).await.unwrap().unwrap()
}

/// Asks for the manifest with these headers and compares how it is answered.
async fn check(world: &World, headers: &[(&str, &str)], expected: &str) {
    let path = "/api/v1/deployments";
    let answer = send(world.client.link(), Method::GET, path, headers, "").await.unwrap();
    let header = |name| answer.headers.get(name).map_or("", |it| it.to_str().unwrap());
    let found = [answer.status.as_str(), header("content-type"), header("cache-control")];
    assert_eq!(found.join(" "), expected);
}
