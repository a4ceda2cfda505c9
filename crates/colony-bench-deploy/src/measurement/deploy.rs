//! From "accepted" to INSTALLED, against the bare engine.
//!
//! Each repeat is a fresh deployment under another name, taken in turn with
//! two containers through the bare engine API: one on a network that is there,
//! one on a network made for it, as compose wants it and as the node makes it. What was made is deleted in between, outside of the measured time.

use std::time::Duration;

use crate::clock::{self, Samples};
use crate::engine::Engine;
use crate::engine::api::{EngineApi, OWN_NETWORK};
use crate::engine::until_healthy;
use crate::story::{Story, Times, WallTimes};
use crate::table::{Table, ratio, time};

pub(crate) const VERSION: &str = "1.0";

/// What was measured on one engine.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) bare: Samples,
    create: Samples,
    healthy: Samples,
    network: Samples,
    network_made: Samples,
    accepted: Samples,
    sent: Samples,
    /// Every deployment with how long it took.
    runs: Vec<(Duration, WallTimes)>,
    /// What the baseline consists of, and the goal.
    steps: [&'static str; 3],
    goal: &'static str,
}

impl Measured {
    /// The deployment in the middle of all.
    pub(crate) fn typical(&self) -> Option<WallTimes> {
        let median = self.accepted.median();
        self.runs.iter().find(|it| it.0 == median).map(|it| it.1)
    }

    fn take(&mut self, times: &Times) {
        let took = times.seen - times.accepted;
        self.accepted.add(took);
        self.sent.add(times.seen - times.sent);
        self.runs.push((took, times.wall));
    }
}

pub(crate) async fn measure(
    story: &mut Story,
    engine: &Engine,
    node: &str,
    repeats: usize,
) -> anyhow::Result<Measured> {
    // The first one fetches the image.
    story.deploy(&format!("{node}-first"), VERSION, node).await?;
    story.delete(&format!("{node}-first")).await?;
    engine.has_image(VERSION).await?;
    let (steps, goal) = (engine.steps(), engine.goal());
    let mut measured = Measured { steps, goal, ..Measured::default() };
    for repeat in 0..repeats {
        bare(engine, &mut measured).await?;
        if let Some(engine) = engine.api() {
            bare_with_network(engine, &mut measured).await?;
        }
        let name = format!("{node}-{repeat}");
        let times = story.deploy(&name, VERSION, node).await?;
        measured.take(&times);
        story.delete(&name).await?;
    }
    Ok(measured)
}

async fn bare(engine: &Engine, measured: &mut Measured) -> anyhow::Result<()> {
    let begun = clock::now();
    let made = engine.start(VERSION).await?;
    let started = clock::now();
    engine.healthy(&made).await?;
    let ended = clock::now();
    measured.bare.add(ended - begun);
    measured.create.add(started - begun);
    measured.healthy.add(ended - started);
    engine.remove(&made).await
}

async fn bare_with_network(engine: &EngineApi, measured: &mut Measured) -> anyhow::Result<()> {
    let begun = clock::now();
    engine.network_add(OWN_NETWORK).await?;
    measured.network_made.add(clock::now() - begun);
    let id = engine.start("bench-bare", VERSION, OWN_NETWORK).await?;
    until_healthy(async || engine.check(&id).await).await?;
    measured.network.add(clock::now() - begun);
    engine.remove(&id).await?;
    engine.network_remove(OWN_NETWORK).await
}

pub(crate) fn table(repeats: usize, engines: &[(String, Measured)]) -> Table {
    let title = format!("Deploying: {repeats} repeats on each engine");
    let columns = ["engine", "what", "ratio of medians", "goal", "median", "p95", "ratio of p95"];
    let mut table = Table::new(title, &columns);
    for (engine, it) in engines {
        let mut row = |what: &str, goal: &str, samples: &Samples| {
            if what.is_empty() || samples.is_empty() {
                return;
            }
            let (median, p95) = (samples.median(), samples.p95());
            table.row([
                engine.clone(),
                what.to_owned(),
                ratio(median, it.bare.median()),
                goal.to_owned(),
                time(median),
                time(p95),
                ratio(p95, it.bare.p95()),
            ]);
        };
        let [baseline, create, check] = it.steps;
        row(&format!("baseline: {baseline}"), "", &it.bare);
        row(&part(create), "", &it.create);
        row(&part(check), "", &it.healthy);
        row("the same on a network of its own, made first", "", &it.network);
        row("– of it making the network", "", &it.network_made);
        row("deploy accepted → INSTALLED seen at CO", it.goal, &it.accepted);
        row("deploy sent → INSTALLED seen at CO", "", &it.sent);
    }
    table.note(
        "Image local; CO, LO and each node are processes of their own; a fresh deployment each \
         time, deleted in between outside of the measured time. The check is `/hello check` by \
         exec in both: at once, then after 50 ms, 100 ms and so on.",
    )
}

fn part(what: &str) -> String {
    if what.is_empty() { String::new() } else { format!("– of it {what}") }
}
