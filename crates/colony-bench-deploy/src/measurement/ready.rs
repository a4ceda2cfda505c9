//! How long a role takes from its start to its first good answer.

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use colony_api::Client;

use crate::clock::{self, Samples};
use crate::fleet::{Fleet, wait};
use crate::table::{Table, time};

const REPEATS: usize = 10;

pub(crate) async fn measure(fleet: &mut Fleet, node: &str) -> anyhow::Result<Table> {
    let title = format!("Start → ready, of roles that have joined, {REPEATS} repeats");
    let mut table = Table::new(title, &["role", "ready is", "median", "p95"]);
    let mut row = |role: &str, what: &str, it: &Samples| {
        table.row([role.to_owned(), what.to_owned(), time(it.median()), time(it.p95())]);
    };
    row("EN", "`/readyz` is 200", &self::node(fleet, node).await?);
    row("LO", "`status` is answered on its socket", &local(fleet).await?);
    row("CO", "`status` is answered over TLS", &central(fleet).await?);
    fleet.online().await?;
    Ok(table.note("Asked every 2 ms; EN's answer needs the site and the engine to answer first."))
}

async fn central(fleet: &mut Fleet) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..REPEATS {
        fleet.central.stop().await?;
        let begun = clock::now();
        fleet.central.start()?;
        let client = &fleet.client;
        wait("CO", async || Ok(client.status().await.is_ok())).await?;
        samples.add(clock::now() - begun);
    }
    Ok(samples)
}

async fn local(fleet: &mut Fleet) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    let socket = fleet.socket();
    for _ in 0..REPEATS {
        fleet.local.stop().await?;
        let client = Client::unix(&socket)?;
        let begun = clock::now();
        fleet.local.start()?;
        wait("LO", async || Ok(client.status().await.is_ok())).await?;
        samples.add(clock::now() - begun);
    }
    Ok(samples)
}

async fn node(fleet: &mut Fleet, name: &str) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..REPEATS {
        let node = fleet.nodes.get_mut(name).context("there is no such node")?;
        node.stop().await?;
        let begun = clock::now();
        node.start()?;
        let port = node.port;
        wait("EN", async || Ok(is_ready(port).await.unwrap_or(false))).await?;
        samples.add(clock::now() - begun);
    }
    Ok(samples)
}

async fn is_ready(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}
