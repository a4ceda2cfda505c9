//! Deployments and bundles, by digest. Their bytes never change; a text that is
//! not a digest is not found.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use colony_margo::manifest::BUNDLE_MEDIA_TYPE;
use colony_margo::{Digest, Problem, ProblemType};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::caller::Caller;
use super::refusal::At;
use super::{Manager, Refusal};

const FOR_EVER: &str = "private, max-age=31536000, immutable";

pub(super) async fn document(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    At((id, digest)): At<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let missing = |_| Problem::new(ProblemType::DeploymentNotFound);
    let digest = digest.parse().map_err(missing)?;
    let bytes = manager.document(&client, &id, &digest).await?;
    Ok(answer(bytes, "application/yaml", &digest, &headers))
}

pub(super) async fn bundle(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    At(digest): At<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let missing = |_| Problem::new(ProblemType::InvalidBundle);
    let digest = digest.parse().map_err(missing)?;
    let bytes = manager.bundle(&client, &digest).await?;
    Ok(answer(bytes, BUNDLE_MEDIA_TYPE, &digest, &headers))
}

fn answer(bytes: Vec<u8>, kind: &'static str, digest: &Digest, headers: &HeaderMap) -> Response {
    let mut response = if matches_etag(headers, digest) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], bytes).into_response()
    };
    let answered = response.headers_mut();
    answered.insert(header::ETAG, quoted(digest));
    answered.insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
    response
}

/// A digest as an entity tag.
pub(super) fn quoted(digest: &Digest) -> HeaderValue {
    let text = format!("\"{digest}\"");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the client already has these bytes.
pub(super) fn matches_etag(headers: &HeaderMap, digest: &Digest) -> bool {
    let digest = digest.to_string();
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let mut tags = values.flat_map(|it| it.split(',')).map(str::trim);
    tags.any(|it| it == "*" || it.trim_start_matches("W/").trim_matches('"') == digest)
}
