//! Bodies of requests, within limits of size and time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use colony_margo::{Finding, Problem, ProblemType};
use http_body_util::BodyExt as _;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::timeout;

const TIME: Duration = Duration::from_secs(30);
/// What is read of a body that is too large, so that the client is done with
/// sending when it is told.
const MAX_DRAINED: usize = 4 << 20;

/// Reads a body of `limit` bytes at most.
pub(super) async fn read(body: Body, limit: usize) -> Result<Bytes, Problem> {
    match timeout(TIME, collect(body, limit)).await {
        Ok(result) => result,
        Err(_) => {
            let problem = Problem { title: "Request Timeout".into(), ..Problem::about_blank(408) };
            Err(problem.detail(format!("the body did not come within {} s", TIME.as_secs())))
        }
    }
}

/// Reads a JSON body of `limit` bytes at most.
pub async fn json<T: DeserializeOwned>(body: Body, limit: usize) -> Result<T, Problem> {
    let bytes = read(body, limit).await?;
    serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))
}

/// The problem of a document with findings: 400 if it is no JSON at all.
pub(super) fn refuse(bytes: &[u8], findings: &[Finding]) -> Problem {
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => Problem::semantic(findings),
        Err(error) => invalid(format!("the body is no JSON: {error}")),
    }
}

pub(super) fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemType::InvalidRequest).detail(detail)
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| invalid("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - whole.len() {
            drain(body).await;
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
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

fn too_large(limit: usize) -> Problem {
    Problem::about_blank(413).detail(format!("the body has more than {limit} bytes"))
}
