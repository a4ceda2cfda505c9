//! Whole commands on one machine, as a person types them: `podman run -d`, and
//! `colony deploy --watch` until it ends, with and without a request to deploy.

use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::process::Command;

use crate::clock::{self, Samples};
use crate::engine::api::NETWORK;
use crate::fleet::{Fleet, SITE};
use crate::measurement::deploy::VERSION;
use crate::story::Story;
use crate::table::{Table, ratio, time};

const IMAGE: &str = "colony.builtin/hello-server";
const NAME: &str = "bench-command";

#[derive(Debug, Default)]
struct Measured {
    run: Samples,
    run_checked: Samples,
    deploy: Samples,
    list: Samples,
}

/// `engine` is the command of the engine: words before `run`.
pub(crate) async fn measure(
    fleet: &Fleet,
    story: &mut Story,
    (node, engine): (&str, &[String]),
    repeats: usize,
) -> anyhow::Result<Table> {
    // The first one fetches the image.
    story.deploy(NAME, VERSION, node).await?;
    story.delete(NAME).await?;
    let mut measured = Measured::default();
    for _ in 0..repeats {
        let (run, checked) = bare(engine).await?;
        measured.run.add(run);
        measured.run_checked.add(checked);
        measured.deploy.add(deploy(fleet, node).await?);
        story.delete(NAME).await?;
        measured.list.add(colony(fleet, &["deployment", "list"]).await?);
    }
    Ok(measured.table(repeats, node))
}

/// Until `run -d` has ended, and until a check by `exec` has as well.
async fn bare(engine: &[String]) -> anyhow::Result<(Duration, Duration)> {
    let image = format!("{IMAGE}:{VERSION}");
    let begun = clock::now();
    let words = ["run", "-d", "--name", NAME, "--network", NETWORK, "-p", "8080"];
    let more = ["-e", "HELLO_GREETING=Good day", "--stop-signal", "SIGKILL", &image];
    run(engine, &[&words[..], &more[..]].concat()).await?;
    let started = clock::now() - begun;
    run(engine, &["exec", NAME, "/hello", "check"]).await?;
    let checked = clock::now() - begun;
    run(engine, &["rm", "-f", NAME]).await?;
    Ok((started, checked))
}

async fn run(engine: &[String], words: &[&str]) -> anyhow::Result<()> {
    let (program, first) = engine.split_first().context("the engine has no command")?;
    ended(Command::new(program).args(first).args(words), words).await
}

async fn deploy(fleet: &Fleet, node: &str) -> anyhow::Result<Duration> {
    let node = format!("{SITE}/{node}");
    let words = ["deploy", "hello", "--version", VERSION, "--name", NAME, "--site", SITE];
    colony(fleet, &[&words[..], &["--node", &node, "--watch", "--yes"]].concat()).await
}

/// How long the command of colony takes.
async fn colony(fleet: &Fleet, words: &[&str]) -> anyhow::Result<Duration> {
    let mut command = Command::new(&fleet.setup.colony);
    command.args(words).env("COLONY_CONTEXTS", fleet.contexts());
    let begun = clock::now();
    ended(&mut command, words).await?;
    Ok(clock::now() - begun)
}

async fn ended(command: &mut Command, words: &[&str]) -> anyhow::Result<()> {
    let ended = command.output().await.context("could not start the command")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "`{}` failed: {said}", words.join(" "));
    Ok(())
}

impl Measured {
    fn table(&self, repeats: usize, node: &str) -> Table {
        let title = format!("Whole commands on {node}, {repeats} repeats");
        let columns = ["command", "ratio of medians", "median", "p95"];
        let mut table = Table::new(title, &columns);
        let mut row = |what: &str, it: &Samples| {
            let (median, p95) = (it.median(), it.p95());
            let ratio = ratio(median, self.run.median());
            table.row([what.to_owned(), ratio, time(median), time(p95)]);
        };
        row("`podman run -d`", &self.run);
        row("`podman run -d`, then the check by `podman exec`", &self.run_checked);
        row("`colony deploy --watch`, until INSTALLED", &self.deploy);
        row("`colony deployment list`: start, TLS, one request", &self.list);
        table.note(
            "Each from the start of the process to its end, image local. The goal for \
             `colony deploy --watch` is 1.30×.",
        )
    }
}
