//! A name that is given to another machine is not that of the one before.

use std::time::Duration;

use bytes::Bytes;
use colony_api::client::Client as Operator;
use colony_testkit::deployment_id;
use colony_wfm::{Client, Joined, PrivateKey, join};
use http::Method;
use serde_json::json;

use crate::plant::{Node, Plant};
use crate::{now, status_of};

#[tokio::test]
async fn a_retired_node_stays_out_when_its_name_is_given_to_another() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    let stolen = Machine::join(&plant, "t1").await;
    operator.node_retire("plant", "a").await.expect("it is retired");
    let fresh = Machine::join(&plant, "t2").await;

    for _ in 0..2 {
        assert_eq!(fresh.poll().await, 200, "the one in force");
        assert_eq!(stolen.poll().await, 403, "it only has the name");
        let renewed = stolen.client().renew(&stolen.key.csr().expect("a request")).await;
        assert_eq!(status_of(&renewed), 403);
        let again = Node::join(&stolen.token, &stolen.key, Some("a")).await;
        let error = again.err().expect("its token is spent").to_string();
        assert!(error.contains("invitation was already used"), "{error}");
    }
    role.stop().await;

    let role = plant.start(None).await;
    assert_eq!(stolen.poll().await, 403, "after a restart, too");
    assert_eq!(fresh.poll().await, 200);
    role.stop().await;
}

#[tokio::test]
async fn a_join_whose_answer_was_lost_is_repeated_and_a_key_may_change() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let first = Machine::join(&plant, "t1").await;
    let again = Node::join(&first.token, &first.key, Some("a")).await.expect("it is repeated");
    assert_eq!(again.name, "a");

    let next = PrivateKey::generate().expect("a key");
    let renewed = first.client().renew(&next.csr().expect("a request")).await.expect("renewed");
    assert_eq!(first.poll().await, 200, "the answer may have been lost");
    let next = first.node.with(renewed, &next);
    assert_eq!(poll(&next).await, 200);
    assert_eq!(first.poll().await, 403, "the next key was seen");
    role.stop().await;
}

#[tokio::test]
async fn a_node_speaks_for_itself_alone() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("press-1").await;
    for (device, body) in [("press-2", "press-2"), ("press-1", "press-2"), ("press-2", "press-1")] {
        let own = colony_testkit::capabilities(body, "amd64", "");
        let said = node.client.capabilities(&device.parse().expect("an id"), &own).await;
        assert!((400..500).contains(&status_of(&said)), "{device} {body}: {said:?}");
    }
    let mut status = colony_testkit::status(&deployment_id("hello"), "installed", 1, 1);
    status.device_id = Some("press-2".parse().expect("an id"));
    assert_eq!(status_of(&node.client.status(&status).await), 404);
    for (device, expected) in [("press-1", 403), ("press-2", 404)] {
        let path = format!("/api/v1/capabilities/{device}");
        let (link, wait) = (node.client.link(), Duration::from_secs(10));
        let sent = link.send(Method::DELETE, &path, &[], Bytes::new(), 1 << 20, wait).await;
        assert_eq!(sent.expect("an answer").status.as_u16(), expected, "{device}");
    }
    role.stop().await;
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_told_where() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let token = plant.central.node_token("t1", 3_600).await;
    check_join(
        &token,
        &json!({"token": 7}),
        "invalid type: integer `7`, expected a string at line 1",
    )
    .await;
    role.stop().await;
}

#[tokio::test]
async fn node_that_only_asks_is_heard() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let machine = Machine::join(&plant, "t1").await;
    plant.central.reported(|it| it.nodes.iter().any(|it| it.last_heard_ms_ago.is_none())).await;
    assert_eq!(machine.poll().await, 200);
    plant.central.reported(|it| it.nodes.iter().any(|it| it.last_heard_ms_ago.is_some())).await;
    role.stop().await;
}

async fn check_join(token: &str, request: &serde_json::Value, expected: &str) {
    let refused = join::ask::<Joined>(token, request, now()).await;
    let error = refused.expect_err("it is not let in").to_string();
    assert!(error.contains("refused to join") && error.contains(expected), "{error}");
}

/// A node named `a`, with all it has.
struct Machine {
    token: String,
    key: PrivateKey,
    node: Node,
}

impl Machine {
    async fn join(plant: &Plant, token: &str) -> Machine {
        let token = plant.central.node_token(token, 3_600).await;
        let key = PrivateKey::generate().expect("a key");
        let node = Node::join(&token, &key, Some("a")).await.expect("it joins");
        Machine { token, key, node }
    }

    fn client(&self) -> &Client {
        &self.node.client
    }

    async fn poll(&self) -> u16 {
        poll(self.client()).await
    }
}

async fn poll(client: &Client) -> u16 {
    match client.manifest(None, None, Duration::ZERO).await {
        Ok(_) => 200,
        refused => status_of(&refused),
    }
}
