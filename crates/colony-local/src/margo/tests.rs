//! Tests of joins, and of what nodes are served.

use std::pin::pin;

use futures_util::FutureExt;
use serde_json::json;
use tempfile::TempDir;

use colony_core::site::{Action, Command};
use colony_core::time::Timestamp;
use colony_testkit::capabilities;
use colony_wfm::{
    Authority, Claims, JoinRequest, PrivateKey, TokenKind, TokenSigner, requested_key,
};

use super::*;
use crate::clock::Clock;
use crate::home::Membership;
use crate::kit::{self, Running};
use crate::orders::Orders;

const DOMAIN: &str = "site-home.example";

/// A site that node `b` has joined, with its token and its key.
async fn joined() -> (TestSite, String, PrivateKey) {
    let site = TestSite::open().await;
    let key = PrivateKey::generate().expect("a key");
    let token = site.token(TokenKind::Node, "t1", "home");
    assert_eq!(site.join(&token, &key).await, "joined as b");
    (site, token, key)
}

#[tokio::test]
async fn only_nodes_of_this_site_and_its_own_domain_are_clients() {
    let site = TestSite::open().await;
    site.check_client(DOMAIN, "home", true);
    site.check_client(DOMAIN, "attic", false);
    site.check_client("fleet.example", "home", false);
    site.check_client("fleet.example", "attic", false);
}

#[tokio::test]
async fn only_tokens_for_nodes_of_this_site_let_in() {
    let site = TestSite::open().await;
    let refused = "the token is not for a node of site `home`";
    let key = PrivateKey::generate().expect("a key");
    let of_a_site = site.token(TokenKind::Site, "t1", "home");
    assert_eq!(site.join(&of_a_site, &key).await, refused);
    let of_another = site.token(TokenKind::Node, "t2", "attic");
    assert_eq!(site.join(&of_another, &key).await, refused);
    let own = site.token(TokenKind::Node, "t3", "home");
    assert_eq!(site.join(&own, &key).await, "joined as b");
}

#[tokio::test]
async fn join_that_was_cut_short_is_completed_by_its_repetition() {
    let site = TestSite::open().await;
    let key = PrivateKey::generate().expect("a key");
    let asked = requested_key(&key.csr().expect("a request")).expect("its key");
    let note = ("node-token:t1".to_owned(), json!({"key": asked.to_string(), "node": "b"}));
    let noted = site.writer.store.once(("node-token", "t1"), Timestamp(1), note).await;
    assert!(noted.expect("a database"), "the token is spent, the node is not there yet");

    let token = site.token(TokenKind::Node, "t1", "home");
    assert_eq!(site.join(&token, &key).await, "joined as b");

    assert!(site.brain.notifiers().has(&node("b")));
}

#[tokio::test]
async fn repeated_join_of_a_node_that_is_there_is_not_another_join() {
    let (site, token, key) = joined().await;
    let events = *site.brain.notifiers().head().borrow();

    assert_eq!(site.join(&token, &key).await, "joined as b");

    assert_eq!(*site.brain.notifiers().head().borrow(), events);
}

#[tokio::test]
async fn retired_node_does_not_come_back_with_its_spent_token() {
    let (site, token, key) = joined().await;
    let orders = Orders::new(site.brain.clone(), site.writer.store.clone());
    let action = Action::Retire { node: node("b") };
    let retire = Command { number: None, by: "ana".to_owned(), expires: None, action };
    orders.execute(retire).await.expect("it is retired");

    assert_eq!(site.join(&token, &key).await, "invitation was already used");

    let kept = site.writer.store.node_get("b").await.expect("a database").expect("its identity");
    assert!(kept.retired && !site.brain.notifiers().has(&node("b")));
}

#[tokio::test]
async fn refused_retirement_leaves_the_identity_as_it_was() {
    let (site, token, key) = joined().await;
    let orders = Orders::new(site.brain.clone(), site.writer.store.clone());
    let action = Action::Retire { node: node("b") };
    let retire =
        Command { number: None, by: "ana".to_owned(), expires: Some(Timestamp(1)), action };
    orders.execute(retire).await.expect_err("it has expired");

    let kept = site.writer.store.node_get("b").await.expect("a database").expect("its identity");
    assert!(!kept.retired);
    assert_eq!(site.join(&token, &key).await, "joined as b");
}

#[tokio::test]
async fn manifest_in_force_is_served_also_if_it_was_never_shown() {
    let site = TestSite::open().await;
    let in_force = site.brain.read(|site, _| site.manifest(&node("a"))).await;
    let in_force = in_force.expect("a site").expect("a manifest");
    let (id, digest, document) = &in_force.documents[0];
    let bundle = in_force.bundle.as_ref().expect("a bundle");

    let served = site.gate.document("a", id.as_ref(), digest).await;
    assert_eq!(served.as_ref(), Ok(document));
    assert_eq!(site.gate.bundle("a", &Digest::of(bundle)).await.as_ref(), Ok(bundle));
}

#[tokio::test]
async fn poll_is_held_until_there_is_something_new_for_its_node() {
    let site = TestSite::open().await;
    let mut changed = pin!(site.gate.changed("a"));
    assert_eq!(changed.as_mut().now_or_never(), None);
    site.brain.notifiers().node(&node("b"));
    assert_eq!(changed.as_mut().now_or_never(), None, "it is another node's");
    site.brain.notifiers().node(&node("a"));
    assert_eq!(changed.now_or_never(), Some(()));
}

#[tokio::test]
async fn capabilities_are_created_once_and_replaced_later() {
    let site = TestSite::open().await;
    site.brain.step(Input::Joined(node("b"))).await.expect("it joins");
    for (architecture, created) in [("amd64", true), ("amd64", false), ("arm64", false)] {
        let (device, own) = ("b".parse().expect("an id"), capabilities("b", architecture, ""));
        let put = site.gate.capabilities_put("b", device, own).await;
        assert_eq!(put, Ok(created), "{architecture}");
    }
}

/// Site `home` with node `a`, on which `hello` is being installed.
struct TestSite {
    brain: Brain,
    writer: Running,
    signer: TokenSigner,
    door: Arc<Enrollment>,
    gate: NodeApi,
    _dir: TempDir,
}

impl TestSite {
    async fn open() -> TestSite {
        let dir = TempDir::new().expect("a directory");
        let (brain, writer) = kit::open(&dir).await;
        kit::fill(&brain).await;
        let signer = TokenSigner::generate().expect("a key");
        let site_node = Membership { token_public: signer.public(), ..kit::membership("t0") };
        let authority = Authority::create(DOMAIN, Clock::unix()).expect("a CA");
        let (b, store) = (brain.clone(), writer.store.clone());
        let door = Arc::new(Enrollment::new(b, store, authority, site_node, Keys::default()));
        let (logs, vitals, stop) = (Logs::default(), Vitals::default(), CancellationToken::new());
        let gate = NodeApi::new(brain.clone(), logs, vitals, Arc::clone(&door), stop);
        TestSite { brain, writer, signer, door, gate, _dir: dir }
    }

    fn token(&self, kind: TokenKind, id: &str, site: &str) -> String {
        let (id, site, expires) = (id.to_owned(), site.to_owned(), Clock::unix() + 3_600);
        let (urls, pin) = (Vec::new(), String::new());
        self.signer.sign(&Claims { kind, id, site, urls, pin, expires, replace: false })
    }

    /// Sends a join request as `b`.
    async fn join(&self, token: &str, key: &PrivateKey) -> String {
        let (token, csr) = (token.to_owned(), key.csr().expect("a request"));
        match self.door.join(JoinRequest { token, csr, name: Some("b".to_owned()) }).await {
            Ok(joined) => format!("joined as {}", joined.name),
            Err(problem) => problem.detail.unwrap_or(problem.title),
        }
    }

    #[track_caller]
    fn check_client(&self, domain: &str, site: &str, expected: bool) {
        let id = SpiffeId::wfm_client(domain, site, "a").expect("an id");
        let client = self.door.client(&id);
        assert_eq!(client.ok(), expected.then(|| node("a")), "{id}");
    }
}

fn node(name: &str) -> NodeName {
    name.parse().expect("a name")
}
