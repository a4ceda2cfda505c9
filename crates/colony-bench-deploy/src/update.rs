//! How long nobody answers while a version replaces another.
//!
//! A prober asks the published port all the time and follows it: `hello`
//! leaves the port to the engine, so it is another one afterwards. The gap is
//! from the last answer of one version to the first of the other.

use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::clock::{self, Samples};
use crate::engine::{Engine, NETWORK};
use crate::fleet::wait;
use crate::story::Story;
use crate::table::{Table, ratio, time};

/// Between two questions of the prober.
const PAUSE: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(30);
const VERSIONS: [&str; 2] = ["1.0", "1.1"];

#[derive(Debug, Default)]
pub(crate) struct Measured {
    bare: Samples,
    colony: Samples,
}

pub(crate) async fn measure(
    story: &mut Story,
    engine: &Engine,
    node: &str,
    repeats: usize,
) -> anyhow::Result<Measured> {
    let name = format!("{node}-update");
    // Both images are local afterwards.
    story.deploy(&name, VERSIONS[1], node).await?;
    story.deploy(&name, VERSIONS[0], node).await?;
    let mut measured = Measured::default();
    for repeat in 0..repeats {
        measured.bare.add(bare(engine).await?);
        let (from, to) = (VERSIONS[repeat % 2], VERSIONS[(repeat + 1) % 2]);
        let change = async { story.deploy(&name, to, node).await.map(|_| ()) };
        measured.colony.add(gap(engine, &name, from, to, change).await?);
    }
    story.delete(&name).await?;
    Ok(measured)
}

/// Remove, create and start through the bare engine API.
async fn bare(engine: &Engine) -> anyhow::Result<Duration> {
    let name = "bench-update";
    let old = engine.start(name, VERSIONS[0], NETWORK).await?;
    engine.healthy(&old).await?;
    let mut fresh = String::new();
    let change = async {
        engine.remove(&old).await?;
        fresh = engine.start(name, VERSIONS[1], NETWORK).await?;
        Ok(())
    };
    let gap = gap(engine, name, VERSIONS[0], VERSIONS[1], change).await?;
    engine.remove(&fresh).await?;
    Ok(gap)
}

async fn gap(
    engine: &Engine,
    container: &str,
    from: &str,
    to: &str,
    change: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Duration> {
    let mut port = find(engine, container).await?.context("nothing is published")?;
    let (from, to) = (format!("hello {from}\n"), format!("hello {to}\n"));
    // The change begins when the old version has answered.
    wait("an answer", async || Ok(ask(port).await.is_ok_and(|it| it.ends_with(&from)))).await?;
    let mut last = clock::now();
    let probing = async {
        loop {
            match ask(port).await {
                Ok(page) if page.ends_with(&to) => break Ok((last, clock::now())),
                Ok(page) if page.ends_with(&from) => last = clock::now(),
                Ok(_) | Err(_) => port = find(engine, container).await?.unwrap_or(port),
            }
            sleep(PAUSE).await;
        }
    };
    let both = async { tokio::try_join!(probing, change) };
    let ((last, first), ()) = timeout(PATIENCE, both).await.context("no answer any more")??;
    Ok(first - last)
}

async fn find(engine: &Engine, container: &str) -> anyhow::Result<Option<u16>> {
    Ok(engine.ports(container).await?.first().copied())
}

async fn ask(port: u16) -> anyhow::Result<String> {
    let asking = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: hello\r\nConnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        anyhow::Ok(answer)
    };
    timeout(Duration::from_millis(250), asking).await?
}

pub(crate) fn table(repeats: usize, engines: &[(String, Measured)]) -> Table {
    let title = format!("Update downtime, between 1.0 and 1.1, {repeats} repeats");
    let columns = ["engine", "what", "median", "p95", "ratio of medians"];
    let mut table = Table::new(title, &columns);
    for (engine, it) in engines {
        let mut row = |what: &str, samples: &Samples| {
            let (median, p95) = (time(samples.median()), time(samples.p95()));
            let ratio = ratio(samples.median(), it.bare.median());
            table.row([engine.clone(), what.to_owned(), median, p95, ratio]);
        };
        row("baseline: remove, create, start", &it.bare);
        row("colony", &it.colony);
    }
    table.note(
        "From the last answer of one version to the first of the other, asked every 2 ms through \
         the published port; the baseline is asked in the same way.",
    )
}
