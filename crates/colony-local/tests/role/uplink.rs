//! What the site says reaches CO: a long log, and answers that got lost there.

use colony_api::client::Client as Operator;
use colony_api::request::{Hold, Release};
use colony_core::event::{Body, Presence};

use colony_core::why::{AnswerKey, AnswerUpdate};
use colony_wfm::NodeReport;

use crate::plant::Plant;

/// The longest note that a site takes.
const NOTE: usize = colony_core::order_rules::NOTE_LIMIT;

#[tokio::test]
async fn batches_shrink_until_the_central_one_takes_them() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let operator = Operator::unix(&role.socket).expect("a socket");
    plant.central.set_away(true);
    let note = "x".repeat(NOTE);
    for _ in 0..20 {
        let hold = Hold { note: note.clone(), ..Hold::default() };
        operator.site_hold("plant", &hold).await.expect("it is held");
        operator.site_release("plant", &Release::default()).await.expect("it is released");
    }

    plant.central.set_room(2 * NOTE);
    plant.central.set_away(false);

    let told = |it: &Body| matches!(it, Body::HoldReleased { .. });
    plant.central.all(|it| it.iter().filter(|it| told(&it.body)).count() == 20).await;
    role.stop().await;
}

#[tokio::test]
async fn answers_that_the_central_one_lost_are_sent_again_with_all_others() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    plant.central.answers(|it| !it.is_empty()).await;
    plant.central.lose_answers("no space left");

    node.client.health(&sick("no space left")).await.expect("it is taken");

    let says = |it: &AnswerUpdate, text: &str| {
        let key = AnswerKey::Node("a".parse().expect("a name"));
        it.changed.get(&key).is_some_and(|it| {
            it.iter().any(|it| serde_json::to_string(it).expect("JSON").contains(text))
        })
    };
    let all = |it: &AnswerUpdate| it.complete && says(it, "no space left");
    plant.central.answers(|it| it.iter().any(all)).await;

    // What was taken is not sent again.
    node.client.health(&sick("no engine")).await.expect("it is taken");
    let alone = |it: &AnswerUpdate| !it.complete && says(it, "no engine");
    plant.central.answers(|it| it.iter().any(alone)).await;
    role.stop().await;
}

#[tokio::test]
async fn central_one_that_was_restored_meanwhile_gets_its_events_again() {
    let plant = Plant::new().await;
    let role = plant.first_start().await;
    let node = plant.node("a").await;
    let is_online = |it: &Body| matches!(it, Body::NodePresence { presence: Presence::Online, .. });
    plant.central.all(|it| it.iter().any(|it| is_online(&it.body))).await;
    plant.central.answers(|it| !it.is_empty()).await;
    plant.central.restore(1);

    // Only an answer changes: the site has no event to send.
    node.client.health(&sick("no space left")).await.expect("it is taken");

    plant.central.all(|it| it.iter().any(|it| is_online(&it.body))).await;
    // The events would also come with the next event of the site, the answers would not.
    let resent =
        |all: &[AnswerUpdate]| all.iter().any(|it| it.complete && it.session != all[0].session);
    plant.central.answers(resent).await;
    role.stop().await;
}

fn sick(reason: &str) -> NodeReport {
    NodeReport { ready: false, reasons: vec![reason.to_owned()], progress: Vec::new() }
}
