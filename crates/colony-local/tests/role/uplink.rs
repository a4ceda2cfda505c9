//! A long log reaches CO, however large its events are.

use colony_api::client::Client as Operator;
use colony_api::request::{Hold, Release};
use colony_core::event::Body;

use crate::plant::Plant;

/// Below what the operators' socket takes.
const NOTE: usize = 60_000;

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
