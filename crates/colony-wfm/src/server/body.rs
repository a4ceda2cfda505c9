//! Bodies of requests, within limits of size and time.
//!
//! The time limit grows with the received bytes: a slow connection may send
//! much, but a client that sends nothing is cut off after half a minute.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use colony_margo::{Finding, Problem, ProblemType};
use http_body_util::{BodyExt as _, LengthLimitError};
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::{Instant, timeout_at};

/// For the first byte; received bytes extend it.
const TIME: Duration = Duration::from_secs(30);
/// Bytes per second.
const RATE: u32 = 8 << 10;
/// How much of a body that is too large is still read, so that the client has
/// finished sending when it receives the error.
const MAX_DRAINED: usize = 4 << 20;

/// Reads a body of `limit` bytes at most.
pub async fn read(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let (begun, mut whole) = (Instant::now(), BytesMut::new());
    loop {
        let end = begun + TIME + earned(whole.len());
        let Ok(frame) = timeout_at(end, body.frame()).await else { return Err(too_slow()) };
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            // Drained until the time limit.
            let _ = timeout_at(end, drain(body)).await;
            return Err(too_large(&format!("more than {limit} bytes")));
        }
        whole.extend_from_slice(&data);
    }
}

fn earned(bytes: usize) -> Duration {
    Duration::from_secs(bytes as u64) / RATE
}

fn too_slow() -> Problem {
    let problem = Problem { title: "Request Timeout".into(), ..Problem::about_blank(408) };
    let (first, rate) = (TIME.as_secs(), RATE >> 10);
    problem.detail(format!("the body did not come within {first} s and {rate} KiB/s"))
}

/// A limit of the route, or a client that disconnected.
fn broken(error: axum::Error) -> Problem {
    match error.into_inner().downcast::<LengthLimitError>() {
        Ok(_) => too_large("more bytes than this address takes"),
        Err(_) => invalid("the body broke off"),
    }
}

/// Reads a JSON body of `limit` bytes at most.
pub async fn json<T: DeserializeOwned>(body: Body, limit: usize) -> Result<T, Problem> {
    let bytes = read(body, limit).await?;
    serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))
}

/// The problem of a document with findings: 400 if it is not JSON at all.
pub(super) fn refuse(bytes: &[u8], findings: &[Finding]) -> Problem {
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => Problem::semantic(findings),
        Err(error) => invalid(format!("the body is not JSON: {error}")),
    }
}

pub(super) fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemType::InvalidRequest).detail(detail)
}

async fn drain(mut body: Body) {
    let mut left = MAX_DRAINED;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn too_large(size: &str) -> Problem {
    Problem::about_blank(413).detail(format!("the body has {size}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{StreamExt as _, stream};
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_has_the_time_its_size_allows() {
        check(&[], None).await;
        check(&[(29, 1)], None).await;
        check(&[(31, 1)], Some(408)).await;
        check(&[(29, 1), (2, 1)], Some(408)).await;
        // 512 KiB earn 64 s.
        check(&[(29, 512 << 10), (60, 1)], None).await;
        check(&[(29, 512 << 10), (66, 1)], Some(408)).await;
        check(&[(1, (1 << 20) + 1)], Some(413)).await;
        check(&[(1, 1 << 20)], None).await;
        assert_eq!(too_slow().title, "Request Timeout");
        assert!(too_slow().detail.is_some_and(|it| it.ends_with("within 30 s and 8 KiB/s")));
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_drained_up_to_a_limit() {
        check_drained(2, 2).await;
        // The fifth goes over 4 MiB.
        check_drained(9, 5).await;
    }

    /// Sends pieces of 1 MiB after the limit is exceeded, and counts the pieces
    /// read.
    async fn check_drained(pieces: usize, expected: usize) {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = sent.clone();
        let body = Body::from_stream(stream::iter(0..=pieces).map(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::convert::Infallible>(Bytes::from(vec![b' '; 1 << 20]))
        }));
        let problem = read(body, 1000).await.expect_err("it is too large");
        assert_eq!((problem.status, sent.load(Ordering::Relaxed)), (413, 1 + expected));
    }

    /// Sends pieces of these sizes, each after so many seconds.
    async fn check(pieces: &'static [(u64, usize)], refused: Option<u16>) {
        let body = Body::from_stream(stream::iter(pieces).then(async |(wait, size)| {
            sleep(Duration::from_secs(*wait)).await;
            Ok::<_, std::convert::Infallible>(Bytes::from(vec![b' '; *size]))
        }));
        let status = read(body, 1 << 20).await.err().map(|it| it.status);
        assert_eq!(status, refused, "{pieces:?}");
    }
}
