//! How long the port does not answer while a version replaces another, and how
//! long the whole update takes: in the old one's place, and staged beside it first. Each
//! by colony, and what it comes down to through the bare engine.

use std::time::Duration;

use colony_api::request::{Promote, StrategyChange, StrategyKind};

use crate::clock::{self, Samples};
use crate::engine::api::{EngineApi, NETWORK};
use crate::engine::until_healthy;
use crate::fleet::wait;
use crate::probe::gap;
use crate::story::Story;
use crate::table::{Table, ratio, time};

const VERSIONS: [&str; 2] = ["1.0", "1.1"];

#[derive(Debug, Default)]
pub(crate) struct Measured {
    bare: Updates,
    colony: Updates,
    made: Updates,
    staged: Updates,
}

/// One way to update, again and again.
#[derive(Debug, Default)]
struct Updates {
    gap: Samples,
    whole: Samples,
}

impl Updates {
    fn add(&mut self, (gap, whole): (Duration, Duration)) {
        self.gap.add(gap);
        self.whole.add(whole);
    }
}

pub(crate) async fn measure(
    story: &mut Story,
    engine: &EngineApi,
    node: &str,
    repeats: usize,
) -> anyhow::Result<Measured> {
    let (plain, staged) = (format!("{node}-update"), format!("{node}-blue-green"));
    // Both images are local afterwards.
    for version in [VERSIONS[1], VERSIONS[0]] {
        story.deploy(&plain, version, node).await?;
        story.deploy_by(blue_green(), &staged, version, node).await?;
        tidy(engine, &staged).await?;
    }
    let mut measured = Measured::default();
    for repeat in 0..repeats {
        measured.bare.add(bare(engine).await?);
        measured.colony.add(update(story, engine, &plain, node, repeat).await?);
        measured.made.add(bare_made(engine).await?);
        measured.staged.add(update(story, engine, &staged, node, repeat).await?);
    }
    story.delete(&plain).await?;
    story.delete(&staged).await?;
    Ok(measured)
}

/// What is staged takes over as soon as it is well.
fn blue_green() -> StrategyChange {
    StrategyChange {
        kind: Some(StrategyKind::BlueGreen),
        soak: "0s".parse().ok(),
        promote: Some(Promote::Auto),
        ..StrategyChange::default()
    }
}

/// Remove, create, start and check through the bare engine API.
async fn bare(engine: &EngineApi) -> anyhow::Result<(Duration, Duration)> {
    let name = "bench-update";
    let old = engine.start(name, VERSIONS[0], NETWORK).await?;
    healthy(engine, &old).await?;
    let mut fresh = String::new();
    let change = async {
        let begun = clock::now();
        engine.remove(&old).await?;
        fresh = engine.start(name, VERSIONS[1], NETWORK).await?;
        healthy(engine, &fresh).await?;
        Ok(clock::now() - begun)
    };
    let measured = gap(engine, name, VERSIONS[0], VERSIONS[1], change).await?;
    engine.remove(&fresh).await?;
    Ok(measured)
}

/// The same, with the new container made ahead and the old one removed last.
async fn bare_made(engine: &EngineApi) -> anyhow::Result<(Duration, Duration)> {
    let names = ["bench-update-1", "bench-update-2"];
    let old = engine.start(names[0], VERSIONS[0], NETWORK).await?;
    healthy(engine, &old).await?;
    let fresh = engine.create(names[1], VERSIONS[1], NETWORK).await?;
    let change = async {
        let begun = clock::now();
        engine.stop(&old).await?;
        engine.start_made(&fresh).await?;
        healthy(engine, &fresh).await?;
        Ok(clock::now() - begun)
    };
    let measured = gap(engine, "bench-update", VERSIONS[0], VERSIONS[1], change).await?;
    engine.remove(&old).await?;
    engine.remove(&fresh).await?;
    Ok(measured)
}

async fn healthy(engine: &EngineApi, id: &str) -> anyhow::Result<()> {
    until_healthy(async || engine.check(id).await).await
}

/// There or back, by turns.
async fn update(
    story: &mut Story,
    engine: &EngineApi,
    name: &str,
    node: &str,
    repeat: usize,
) -> anyhow::Result<(Duration, Duration)> {
    let (from, to) = (VERSIONS[repeat % 2], VERSIONS[(repeat + 1) % 2]);
    let change = async { story.deploy(name, to, node).await.map(|it| it.seen - it.accepted) };
    let measured = gap(engine, name, from, to, change).await?;
    tidy(engine, name).await?;
    Ok(measured)
}

/// What was staged is removed after INSTALLED, and must not disturb what is
/// measured next.
async fn tidy(engine: &EngineApi, name: &str) -> anyhow::Result<()> {
    wait("what was staged to go", async || Ok(engine.count(name).await? == 1)).await
}

pub(crate) fn table(repeats: usize, engines: &[(String, Measured)]) -> Table {
    let title = format!("Updating, between 1.0 and 1.1, {repeats} repeats");
    let columns =
        ["engine", "what", "without an answer, median", "p95", "ratio of medians", "whole update"];
    let mut table = Table::new(title, &columns);
    for (engine, it) in engines {
        let mut row = |what: &str, updates: &Updates| {
            let (median, p95) = (updates.gap.median(), updates.gap.p95());
            let ratio = ratio(median, it.bare.gap.median());
            let whole = time(updates.whole.median());
            table.row([engine.clone(), what.to_owned(), time(median), time(p95), ratio, whole]);
        };
        row("baseline: remove, create, start", &it.bare);
        row("colony", &it.colony);
        row("baseline: stop, start what was made ahead", &it.made);
        row("colony, `blue-green`", &it.staged);
    }
    table.note(
        "The time without an answer is from the last answer of one version to the first of the \
         other, with a request every 2 ms through the published port; the baseline is measured in \
         the same way. The whole update is a median too: of the baseline until its first passing \
         check, of colony from accepted to INSTALLED seen at CO. `blue-green` with `soak: 0s`, so \
         that what is staged takes over as soon as it is well.",
    )
}
