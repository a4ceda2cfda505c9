//! How long a port does not answer while something changes.
//!
//! A prober asks the published port all the time and follows it: `hello`
//! leaves the port to the engine, so it is another one afterwards. The gap is
//! from the last answer of one version to the first of the other.

use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::clock;
use crate::engine::api::EngineApi;
use crate::fleet::wait;

/// Between two questions of the prober.
const PAUSE: Duration = Duration::from_millis(2);
/// A port without a listener may swallow a request; a gap is known to within
/// this.
const ANSWER: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(30);

/// The gap while `change` brings `container` from one version to another, and
/// what the change tells of itself.
pub(crate) async fn gap<T>(
    engine: &EngineApi,
    container: &str,
    from: &str,
    to: &str,
    change: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<(Duration, T)> {
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
    let ((last, first), told) =
        timeout(PATIENCE, both).await.context("the port no longer answers")??;
    Ok((first - last, told))
}

async fn find(engine: &EngineApi, container: &str) -> anyhow::Result<Option<u16>> {
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
    timeout(ANSWER, asking).await?
}
