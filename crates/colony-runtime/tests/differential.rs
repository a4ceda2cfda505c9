//! Compose files of our own, on colony's runtime and on Docker Compose.
//!
//! Each file of `compose-corpus` is brought up by both on one Docker daemon, and
//! their containers are compared field by field. What may differ is in a table
//! that `docs/compose.md` publishes. A file is also read by both: the reference
//! prints it in its canonical form, which must mean the same to colony. Every
//! key of the published schema is in the tables of `docs/compose.md`.
//!
//! Comments at the start of a file say how: `# parameters: NAME=value …`;
//! `# started`: Compose starts its containers as well; `# gated`: no container
//! is started, for the machine may lack what they ask for, because each waits
//! for a service that never becomes healthy.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

#[path = "differential/case.rs"]
mod case;
#[path = "differential/colony.rs"]
mod colony;
#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/differences.rs"]
mod differences;
#[expect(dead_code, reason = "tests of engines need more of it than these")]
mod kit;
#[path = "differential/reference.rs"]
mod reference;
#[path = "differential/schema.rs"]
mod schema;
#[expect(dead_code, reason = "tests of engines need more of it than these")]
#[path = "stories/world.rs"]
mod world;

use std::collections::BTreeSet;

use futures_util::StreamExt;
use serde_json::json;

use case::{Case, Mode};
use kit::Engine;
use reference::Compose;
use world::World;

/// How many files are compared at once.
const BESIDE: usize = 3;

#[tokio::test]
async fn containers_are_those_of_docker_compose() {
    let Some(compose) = Compose::find() else { return };
    let world = World::new(Engine::docker()).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    let cases = Case::all();
    assert!(cases.len() >= 60, "{} files are compared", cases.len());
    let done = cases.iter().map(|it| compared(&world, &compose, it));
    let done: Vec<Outcome> =
        futures_util::stream::iter(done).buffer_unordered(BESIDE).collect().await;
    let wrong: Vec<&String> = done.iter().flat_map(|it| &it.wrong).collect();
    assert!(wrong.is_empty(), "{} differences:\n{wrong:#?}", wrong.len());
    let used: BTreeSet<&str> = done.iter().flat_map(|it| it.used.clone()).collect();
    let rows = differences::ROWS.iter().map(|it| it.field);
    let stale: Vec<&str> = rows.filter(|it| !used.contains(it)).collect();
    assert!(stale.is_empty(), "no file shows these differences: {stale:#?}");
    world.node.end().await;
}

#[test]
fn files_mean_the_same_to_the_reference_loader() {
    let Some(compose) = Compose::find() else { return };
    let wrong: Vec<String> =
        Case::all().iter().filter_map(|it| reference::misread(&compose, it).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_document_prints_the_differences() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compose.md");
    let document = std::fs::read_to_string(path).unwrap();
    let table = differences::markdown();
    assert!(document.contains(&table), "docs/compose.md should contain:\n\n{table}");
}

#[derive(Default)]
struct Outcome {
    wrong: Vec<String>,
    used: BTreeSet<&'static str>,
}

async fn compared(world: &World, compose: &Compose, case: &Case) -> Outcome {
    let ours = colony::containers(world, case).await;
    let theirs = reference::containers(world, compose, case).await;
    let mut outcome = Outcome::default();
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(_)) if case.mode == Mode::Refused => return outcome,
        (ours, theirs) => {
            let said = |it: Result<_, String>| it.err().unwrap_or_else(|| "works".to_owned());
            let (ours, theirs) = (said(ours.map(drop)), said(theirs.map(drop)));
            outcome.wrong.push(format!("{}: colony: {ours}; compose: {theirs}", case.name));
            return outcome;
        }
    };
    for difference in compare::all(&ours, &theirs) {
        match differences::ROWS.iter().find(|it| it.covers(&difference)) {
            Some(row) => drop(outcome.used.insert(row.field)),
            None => outcome.wrong.push(format!("{}: {difference}", case.name)),
        }
    }
    outcome
}
