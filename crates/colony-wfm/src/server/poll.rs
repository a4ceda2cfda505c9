//! The manifest, as a long poll.
//!
//! A client that prefers to wait gets its answer when the manifest differs from
//! its own, when the manager has a request, or when the time is over. The
//! subscription to changes starts before the manifest is read, so that no
//! change is missed between the two.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use colony_margo::manifest::MEDIA_TYPE;
use colony_margo::{Problem, ProblemType};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::{Instant, sleep, timeout_at};

use super::caller::Caller;
use super::content::{matches_etag, quoted};
use super::{CurrentManifest, Have, Manager, Refusal};
use crate::manager_request;

const MAX_WAIT: Duration = Duration::from_secs(60);
/// Before the manifest is read again, in case `changed` resolves without a
/// change.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) async fn manifest(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if !accepts_manifest(&headers) {
        let problem = Problem::new(ProblemType::ServerCannotGenerateResponse);
        return Err(problem.detail(format!("only `{MEDIA_TYPE}` is to be had")).into());
    }
    let until = Instant::now() + wait(&headers);
    let held = hold(manager.as_ref(), &client, &headers, until).await?;
    Ok(answer(held, &headers))
}

async fn hold(
    manager: &dyn Manager,
    client: &str,
    headers: &HeaderMap,
    until: Instant,
) -> Result<CurrentManifest, Problem> {
    loop {
        let mut changed = manager.changed(client);
        let already = poll_once(&mut changed).await;
        let held = manager.manifest(client, have(headers)).await?;
        let news = !matches_etag(headers, &held.etag) || !held.asks.is_empty();
        if news || Instant::now() >= until {
            return Ok(held);
        }
        if !already && timeout_at(until, changed).await.is_err() {
            return Ok(held);
        }
        if already {
            sleep(PAUSE).await;
        }
    }
}

/// Polls a future once and returns whether it is ready.
async fn poll_once(future: &mut Pin<Box<dyn Future<Output = ()> + Send + '_>>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

fn answer(held: CurrentManifest, headers: &HeaderMap) -> Response {
    let mut response = if matches_etag(headers, &held.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static(MEDIA_TYPE);
        ([(header::CONTENT_TYPE, kind)], held.bytes).into_response()
    };
    let answered = response.headers_mut();
    answered.insert(header::ETAG, quoted(&held.etag));
    answered.insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
    if !held.asks.is_empty()
        && let Ok(value) = HeaderValue::from_str(&held.asks.to_header())
    {
        answered.insert(manager_request::HEADER, value);
    }
    if wait(headers) > Duration::ZERO {
        answered.insert("preference-applied", HeaderValue::from_static("wait"));
    }
    response
}

pub(crate) fn have(headers: &HeaderMap) -> Have {
    let etag = text(headers, header::IF_NONE_MATCH.as_str());
    let etag = etag.and_then(|it| it.split(',').next());
    let etag = etag.map(|it| it.trim().trim_start_matches("W/").trim_matches('"').to_owned());
    let version =
        text(headers, manager_request::VERSION_HEADER).and_then(|it| it.trim().parse().ok());
    Have { etag, version }
}

/// How long the client prefers to wait (RFC 7240), within our limit.
pub(crate) fn wait(headers: &HeaderMap) -> Duration {
    let values = headers.get_all("prefer").iter().filter_map(|it| it.to_str().ok());
    let mut preferences = values.flat_map(|it| it.split([',', ';'])).map(str::trim);
    let seconds = preferences.find_map(|it| {
        let (name, value) = it.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("wait").then(|| value.parse::<u32>().ok())?
    });
    Duration::from_secs(seconds.unwrap_or(0).into()).min(MAX_WAIT)
}

/// Whether the client accepts the manifest's media type; without the header it
/// does.
pub(crate) fn accepts_manifest(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    if accepted.peek().is_none() {
        return true;
    }
    let values = accepted.filter_map(|it| it.to_str().ok());
    values.flat_map(|it| it.split(',')).any(is_manifest)
}

fn is_manifest(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|it| it.strip_prefix("q=")).map(str::parse::<f32>);
    let refused = matches!(weight, Some(Ok(weight)) if weight <= 0.0);
    matches!(kind.as_str(), MEDIA_TYPE | "application/*" | "*/*") && !refused
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preference_to_wait_is_read_within_the_limit() {
        check_wait("wait=10", 10);
        check_wait("respond-async, wait=\"7\"", 7);
        check_wait("Wait = 5; foo", 5);
        check_wait("wait=3600", 60);
        check_wait("wait=-1", 0);
        check_wait("wait=99999999999999999999", 0);
        check_wait("wait", 0);
        check_wait("waiting=5", 0);
    }

    #[test]
    fn only_clients_that_take_a_manifest_get_one() {
        check_accept(MEDIA_TYPE, true);
        check_accept("text/html, */*;q=0.1", true);
        check_accept("application/*", true);
        check_accept("Application/Vnd.Margo.Manifest.V1+JSON; q=0.5", true);
        check_accept("application/json", false);
        check_accept("*/*;q=0", false);
        check_accept("", false);
        assert!(accepts_manifest(&HeaderMap::new()));
    }

    #[test]
    fn what_a_client_has_is_read_without_quotes() {
        let mut headers = headers("if-none-match", "W/\"sha256:ab\", \"x\"");
        headers.insert(manager_request::VERSION_HEADER, HeaderValue::from_static("7"));
        let expected = Have { etag: Some("sha256:ab".into()), version: Some(7) };
        assert_eq!(have(&headers), expected);
        assert_eq!(have(&HeaderMap::new()), Have::default());
    }

    #[test]
    fn an_answer_says_whether_it_was_held_back() {
        check_applied("wait=10", true);
        check_applied("wait=0", false);
        check_applied("respond-async", false);
    }

    #[track_caller]
    fn check_applied(value: &'static str, expected: bool) {
        let etag = colony_margo::Digest::of(b"x");
        let held =
            CurrentManifest { bytes: Vec::new(), etag, asks: crate::ManagerRequests::default() };
        let answer = answer(held, &headers("prefer", value));
        assert_eq!(answer.headers().contains_key("preference-applied"), expected, "{value}");
    }

    #[track_caller]
    fn check_wait(value: &'static str, seconds: u64) {
        assert_eq!(wait(&headers("prefer", value)).as_secs(), seconds, "{value}");
    }

    #[track_caller]
    fn check_accept(value: &'static str, expected: bool) {
        assert_eq!(accepts_manifest(&headers("accept", value)), expected, "{value}");
    }

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))])
    }
}
