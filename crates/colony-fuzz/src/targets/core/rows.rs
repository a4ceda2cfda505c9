//! Rows brought back from a disk, and the seed of a site.

use colony_core::margo::DeviceId;
use colony_core::node::{self, Node, Policy};
use colony_core::site::{self, Input, Seed, Site, Timing};
use colony_core::time::{Monotonic, Now, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Outcome;

pub(super) const WALL: Timestamp = Timestamp(1_794_225_600_000);

pub(super) fn site(input: &[u8]) -> Outcome {
    let rows: Vec<site::Row> = match read(input) {
        Ok(rows) => rows,
        Err(outcome) => return outcome,
    };
    match Site::restore(rows, Timing::default()) {
        Err(error) => Outcome::refused(error),
        Ok(site) => {
            let mut copy = site.clone();
            let again = Site::restore(site_rows(&site), Timing::default()).expect("its own rows");
            assert_eq!(printed(&site_rows(&again)), printed(&site_rows(&site)), "rows differ");
            Outcome::taken(live(&mut copy))
        }
    }
}

fn site_rows(site: &Site) -> Vec<site::Row> {
    let keys = std::iter::once(site::RowKey::Meta)
        .chain(site.deployments().map(|it| site::RowKey::Deployment(it.id.clone())))
        .chain(site.placements().map(|it| site::RowKey::Placement(it.id.clone())))
        .chain(site.site_nodes().map(|it| site::RowKey::SiteNode(it.name.clone())));
    keys.filter_map(|it| site.row(&it)).collect()
}

/// Lets the site live for a while: whatever was restored, it goes on.
fn live(site: &mut Site) -> String {
    let nodes: Vec<_> = site.site_nodes().map(|it| it.name.clone()).collect();
    let start = site.clock();
    let mut seen = Vec::new();
    for second in [0, 1, 20, 4_000, 700_000] {
        let now = Now {
            mono: Monotonic(start.0.saturating_add(second * 1000)),
            wall: Timestamp(WALL.0 + second * 1000),
            entropy: second,
        };
        for node in &nodes {
            let step = site.step(Input::Heard { node: node.clone(), have: None }, now);
            seen.push(step.events.len().min(2));
            let _ = site.manifest(node);
        }
        let step = site.step(Input::Tick, now);
        seen.push(step.events.len().min(3));
    }
    format!("{seen:?}").replace(|it: char| it.is_ascii_digit(), "n")
}

pub(super) fn node(input: &[u8]) -> Outcome {
    let rows: Vec<node::Row> = match read(input) {
        Ok(rows) => rows,
        Err(outcome) => return outcome,
    };
    let id: DeviceId = "a".parse().expect("a device");
    let mut node = Node::restore(id.clone(), Policy::default(), rows);
    let kept = |node: &Node| {
        let keys = std::iter::once(node::Key::Meta)
            .chain(node.wanted().into_keys().map(node::Key::Deployment));
        keys.filter_map(|it| node.row(&it)).collect::<Vec<_>>()
    };
    let again = Node::restore(id, Policy::default(), kept(&node));
    assert_eq!(kept(&again), kept(&node), "rows differ");
    let start = node.clock();
    let mut seen = Vec::new();
    for second in [0, 1, 20, 4_000] {
        let now = Now {
            mono: Monotonic(start.0.saturating_add(second * 1000)),
            wall: WALL,
            entropy: second,
        };
        let observed = node::Input::Observed { taken: now.mono, containers: Vec::new() };
        let step = node.step(observed, now);
        seen.push(step.actions.len().min(3));
    }
    Outcome::taken(
        format!("{} {seen:?}", node.wanted().len().min(3))
            .replace(|it: char| it.is_ascii_digit(), "n"),
    )
}

pub(super) fn seed(input: &[u8]) -> Outcome {
    let seed: Seed = match serde_json::from_slice(input) {
        Ok(seed) => seed,
        Err(error) => return Outcome::refused(error),
    };
    let mut site = Site::new("home".parse().expect("a name"), 1, Timing::default());
    let now = Now { wall: WALL, ..Now::default() };
    let step = site.step(Input::Seed(Box::new(seed.clone())), now);
    assert!(step.refused.is_none(), "a new site refuses its seed: {:?}", step.refused);
    let again = site.step(Input::Seed(Box::new(seed)), now);
    assert!(again.refused.is_some(), "seeded twice");
    let rows = site_rows(&site);
    let mut back = Site::restore(rows.clone(), Timing::default()).expect("its own rows");
    assert_eq!(printed(&site_rows(&back)), printed(&rows), "rows differ");
    Outcome::taken(format!("{} {}", step.events.len().min(5), live(&mut back)))
}

/// Rows as a list, each of which prints as it was read.
pub(super) fn read<T: Serialize + DeserializeOwned>(input: &[u8]) -> Result<Vec<T>, Outcome> {
    let rows: Vec<T> = serde_json::from_slice(input).map_err(Outcome::refused)?;
    let text = printed(&rows);
    let again: Vec<T> = serde_json::from_str(&text).expect("rows we wrote are read");
    assert_eq!(printed(&again), text, "a row prints differently");
    Ok(rows)
}

fn printed<T: Serialize>(rows: &[T]) -> String {
    serde_json::to_string(rows).expect("rows are JSON")
}
