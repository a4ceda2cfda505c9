//! How long a client of a published port waits for its next answer.

use super::clients::{Clients, Seen};
use super::{install, stage, take_over, version};
use crate::stories::staged::free_port;
use crate::stories::world::World;

/// What happens while a client asks.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Swap,
    StopAndStart,
    /// Another application is started and removed: the noise of the machine.
    Other,
}

/// The longest gap of each client, by what happens meanwhile.
pub(crate) async fn timing(world: &World) {
    let repeats = std::env::var("REPEATS").ok().and_then(|it| it.parse().ok()).unwrap_or(10);
    let kind = world.engine.kind;
    for (what, change) in [
        ("swap", Change::Swap),
        ("stop and start", Change::StopAndStart),
        ("another application starts and stops", Change::Other),
    ] {
        let (mut gaps, mut failures) = ([Vec::new(), Vec::new()], 0);
        for repeat in 0..repeats {
            let seen = measured(world, change, &format!("time-{}-{repeat}", what.len())).await;
            for (gaps, seen) in gaps.iter_mut().zip(seen) {
                gaps.push(seen.gap);
                failures += seen.failures.len();
            }
        }
        for (mut gaps, over) in gaps.into_iter().zip(["loopback", "network"]) {
            gaps.sort();
            let (median, most) = (gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
            println!("| {kind} | {what}, over {over} | {median:.1?} | {most:.1?} | {failures} |");
        }
    }
}

async fn measured(world: &World, change: Change, name: &str) -> Vec<Seen> {
    let port = free_port();
    let old = version(world, name, "one", 1, port);
    let new = match change {
        Change::Other => version(world, &format!("{name}-other"), "two", 1, free_port()),
        Change::Swap | Change::StopAndStart => version(world, name, "two", 1, port),
    };
    install(world, &old).await;
    world.node.prepare(&new).await.unwrap();
    if change == Change::Swap {
        stage(world, &new).await;
    }
    let clients = Clients::start(port);
    if change == Change::Other {
        install(world, &new).await;
        world.node.clear(&new, None).await.unwrap();
    } else {
        take_over(world, &old, &new).await;
        world.node.until_well(&new).await;
        world.node.unstage(&new).await.unwrap();
    }
    let seen = clients.end();
    world.node.remove(&new).await;
    world.node.remove(&old).await;
    seen
}
