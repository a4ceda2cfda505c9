//! What a deployment costs from end to end: `make bench-deploy`.
//!
//! A fleet of real processes on real engines, and beside it, in the same run,
//! the same containers through the bare engine API: times depend on the
//! machine, ratios much less. Nothing is asserted; `docs/performance.md` holds
//! what was measured. `scripts/bench-deploy` builds the programs, starts the
//! engines and calls this.

mod clock;
mod engine;
mod fleet;
mod measurement;
mod probe;
mod story;
mod table;

use std::path::PathBuf;

use anyhow::Context;

use engine::Engine;
use fleet::{Fleet, Setup};
use measurement::{deploy, memory, push, ready, sites, trace, update};
use story::Story;
use table::Table;

/// What to measure, and on what.
#[derive(Debug)]
struct Plan {
    setup: Setup,
    /// Engines by name, which is also their node's.
    engines: Vec<(String, PathBuf)>,
    repeats: usize,
    only: Option<Part>,
    /// How many sites, for each fleet of sites.
    sites: Vec<usize>,
}

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Needs no quiet machine.
    Memory,
    Update,
    /// What many sites without nodes cost the central orchestrator.
    Sites,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let plan = Plan::read(std::env::args().skip(1))?;
    if plan.only == Some(Part::Sites) {
        let tables = sites::measure(&plan.setup, &plan.sites, plan.repeats).await?;
        tables.iter().for_each(print);
        return Ok(());
    }
    let mut fleet = Fleet::start(plan.setup.clone()).await?;
    for (name, socket) in &plan.engines {
        fleet.node_add(name, socket).await?;
    }
    fleet.online().await?;
    match plan.only {
        None => {
            times(&plan, &mut fleet).await?;
            weights(&plan, &mut fleet).await?;
        }
        Some(Part::Memory) => weights(&plan, &mut fleet).await?,
        Some(Part::Update) => updates(&plan, &mut Story::follow(&fleet.client).await?).await?,
        Some(Part::Sites) => {}
    }
    fleet.stop().await
}

async fn weights(plan: &Plan, fleet: &mut Fleet) -> anyhow::Result<()> {
    let (_, socket) = plan.engines.first().context("there is no engine")?;
    for table in memory::measure(fleet, socket).await? {
        print(&table);
    }
    print(&memory::programs(fleet)?);
    Ok(())
}

async fn times(plan: &Plan, fleet: &mut Fleet) -> anyhow::Result<()> {
    let mut story = Story::follow(&fleet.client).await?;
    let mut deploys = Vec::new();
    for (name, socket) in &plan.engines {
        let engine = Engine::connect(socket).await?.ready().await?;
        let measured = deploy::measure(&mut story, &engine, name, plan.repeats).await?;
        deploys.push((name.clone(), measured));
        engine.clear().await;
    }
    print(&deploy::table(plan.repeats, &deploys));
    for (name, measured) in &deploys {
        let typical = measured.typical().context("nothing was measured")?;
        print(&trace::table(fleet, name, typical)?);
    }
    updates(plan, &mut story).await?;
    let (name, _) = plan.engines.first().context("there is no engine")?;
    let bare = &deploys.first().context("nothing was measured")?.1.bare;
    print(&push::measure(fleet, &mut story, name, plan.few(), bare).await?);
    drop(story);
    print(&ready::measure(fleet, name).await?);
    Ok(())
}

async fn updates(plan: &Plan, story: &mut Story) -> anyhow::Result<()> {
    let mut updates = Vec::new();
    for (name, socket) in &plan.engines {
        let engine = Engine::connect(socket).await?.ready().await?;
        updates.push((name.clone(), update::measure(story, &engine, name, plan.few()).await?));
        engine.clear().await;
    }
    print(&update::table(plan.few(), &updates));
    Ok(())
}

impl Plan {
    /// How often what takes longer is done.
    fn few(&self) -> usize {
        (self.repeats / 2).max(1)
    }

    /// `--colony`, `--local`, `--node`, `--dir`, `--repeats`, `--only memory`,
    /// `--only update` or `--only sites`, `--sites` for each fleet of sites, and
    /// `--engine name=socket` for each engine.
    fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Plan> {
        let (mut colony, mut local, mut node, mut dir) = (None, None, None, None);
        let (mut engines, mut sites, mut repeats, mut only) = (Vec::new(), Vec::new(), 20, None);
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--colony" => colony = Some(PathBuf::from(value)),
                "--local" => local = Some(PathBuf::from(value)),
                "--node" => node = Some(PathBuf::from(value)),
                "--dir" => dir = Some(PathBuf::from(value)),
                "--repeats" => repeats = value.parse()?,
                "--sites" => sites.push(value.parse()?),
                "--only" => only = Some(Part::read(&value)?),
                "--engine" => {
                    let (name, socket) = value.split_once('=').context("--engine name=socket")?;
                    engines.push((name.to_owned(), PathBuf::from(socket)));
                }
                _ => anyhow::bail!("{word} is not known"),
            }
        }
        let colony = colony.context("--colony says which program to measure")?;
        let local = local.unwrap_or_else(|| colony.clone());
        let node = node.unwrap_or_else(|| colony.clone());
        let dir = dir.context("--dir says where to keep things")?;
        Ok(Plan { setup: Setup { colony, local, node, dir }, engines, repeats, only, sites })
    }
}

impl Part {
    fn read(word: &str) -> anyhow::Result<Part> {
        match word {
            "memory" => Ok(Part::Memory),
            "update" => Ok(Part::Update),
            "sites" => Ok(Part::Sites),
            _ => anyhow::bail!("there is no part `{word}`, but `memory`, `update` and `sites`"),
        }
    }
}

#[expect(clippy::print_stdout, reason = "the tables are what this program is for")]
fn print(table: &Table) {
    println!("{table}");
}
