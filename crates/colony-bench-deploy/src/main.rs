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

use std::path::{Path, PathBuf};

use anyhow::Context;

use engine::Engine;
use engine::api::EngineApi;
use fleet::{Fleet, Setup};
use measurement::{command, deploy, memory, push, ready, sites, trace, update};
use story::Story;
use table::Table;

/// What to measure, and on what.
#[derive(Debug)]
struct Plan {
    setup: Setup,
    /// Engines by name, which is also their node's: sockets of Docker and Podman,
    /// `containerd:<socket>`, `kubernetes:<kubeconfig>`.
    engines: Vec<(String, String)>,
    /// The words of a command line of Podman before `run`.
    podman: Vec<String>,
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
    Deploy,
    Update,
    /// Whole commands on podman.
    Command,
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
    for (name, place) in &plan.engines {
        fleet.node_add(name, place).await?;
    }
    fleet.online().await?;
    match plan.only {
        None => {
            times(&plan, &mut fleet).await?;
            weights(&plan, &mut fleet).await?;
        }
        Some(Part::Memory) => weights(&plan, &mut fleet).await?,
        Some(Part::Deploy) => {
            deploys(&plan, &fleet, &mut Story::follow(&fleet.client).await?).await?;
        }
        Some(Part::Update) => updates(&plan, &mut Story::follow(&fleet.client).await?).await?,
        Some(Part::Command) => {
            commands(&plan, &fleet, &mut Story::follow(&fleet.client).await?).await?;
        }
        Some(Part::Sites) => {}
    }
    fleet.stop().await
}

async fn weights(plan: &Plan, fleet: &mut Fleet) -> anyhow::Result<()> {
    let (_, place) = plan.engines.first().context("there is no engine")?;
    for table in memory::measure(fleet, place).await? {
        print(&table);
    }
    print(&memory::programs(fleet)?);
    Ok(())
}

async fn times(plan: &Plan, fleet: &mut Fleet) -> anyhow::Result<()> {
    let mut story = Story::follow(&fleet.client).await?;
    let deploys = deploys(plan, fleet, &mut story).await?;
    commands(plan, fleet, &mut story).await?;
    updates(plan, &mut story).await?;
    let (name, _) = plan.engines.first().context("there is no engine")?;
    let bare = &deploys.first().context("nothing was measured")?.bare;
    print(&push::measure(fleet, &mut story, name, plan.few(), bare).await?);
    drop(story);
    print(&ready::measure(fleet, name).await?);
    Ok(())
}

/// Deployments on each engine, and one of them stage by stage.
async fn deploys(
    plan: &Plan,
    fleet: &Fleet,
    story: &mut Story,
) -> anyhow::Result<Vec<deploy::Measured>> {
    let mut deploys = Vec::new();
    for (name, place) in &plan.engines {
        let engine = Engine::connect(place, &fleet.engine_folder(name)).await?;
        let measured = deploy::measure(story, &engine, name, plan.repeats).await?;
        deploys.push((name.clone(), measured));
        engine.clear().await;
    }
    print(&deploy::table(plan.repeats, &deploys));
    for (name, measured) in &deploys {
        let typical = measured.typical().context("nothing was measured")?;
        print(&trace::table(fleet, name, typical)?);
    }
    Ok(deploys.into_iter().map(|it| it.1).collect())
}

/// Whole commands, where the engine has a command of its own to compare with.
async fn commands(plan: &Plan, fleet: &Fleet, story: &mut Story) -> anyhow::Result<()> {
    let podman = plan.engines.iter().find(|it| it.0 == "podman");
    let Some((name, place)) = podman.filter(|_| !plan.podman.is_empty()) else { return Ok(()) };
    let engine = EngineApi::connect(Path::new(place)).await?.ready().await?;
    let how = (name.as_str(), plan.podman.as_slice());
    print(&command::measure(fleet, story, how, plan.repeats).await?);
    engine.clear().await;
    Ok(())
}

/// Updates are watched through the Engine API.
async fn updates(plan: &Plan, story: &mut Story) -> anyhow::Result<()> {
    let mut updates = Vec::new();
    for (name, place) in plan.engines.iter().filter(|it| !it.1.contains(':')) {
        let engine = EngineApi::connect(Path::new(place)).await?.ready().await?;
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

    /// `--colony`, `--local`, `--node`, `--dir`, `--repeats`, `--only <part>`,
    /// `--sites` for each fleet of sites, `--engine name=place` for each engine,
    /// and `--podman` with the words before `run`.
    fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Plan> {
        let (mut colony, mut local, mut node, mut dir) = (None, None, None, None);
        let (mut engines, mut sites, mut repeats, mut only) = (Vec::new(), Vec::new(), 20, None);
        let mut podman = Vec::new();
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
                    let (name, place) = value.split_once('=').context("--engine name=place")?;
                    engines.push((name.to_owned(), place.to_owned()));
                }
                "--podman" => podman = value.split_whitespace().map(str::to_owned).collect(),
                _ => anyhow::bail!("{word} is not known"),
            }
        }
        let colony = colony.context("--colony says which program to measure")?;
        let local = local.unwrap_or_else(|| colony.clone());
        let node = node.unwrap_or_else(|| colony.clone());
        let dir = dir.context("--dir says where to keep things")?;
        Ok(Plan {
            setup: Setup { colony, local, node, dir },
            engines,
            podman,
            repeats,
            only,
            sites,
        })
    }
}

impl Part {
    fn read(word: &str) -> anyhow::Result<Part> {
        match word {
            "memory" => Ok(Part::Memory),
            "deploy" => Ok(Part::Deploy),
            "update" => Ok(Part::Update),
            "command" => Ok(Part::Command),
            "sites" => Ok(Part::Sites),
            _ => anyhow::bail!(
                "there is no part `{word}`, but `memory`, `deploy`, `update`, `command` and `sites`"
            ),
        }
    }
}

#[expect(clippy::print_stdout, reason = "the tables are what this program is for")]
fn print(table: &Table) {
    println!("{table}");
}
