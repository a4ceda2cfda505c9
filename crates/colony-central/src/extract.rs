//! What a request carries, read with limits and answered with problems.

use std::str::FromStr;

use axum::RequestExt as _;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// How much is said of a body's beginning, and of its end.
const HALF: usize = 200;

/// A JSON body. An empty one reads as an empty object.
#[derive(Debug)]
pub(crate) struct Sent<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Sent<T>, Fault> {
        let Whole(body) = Whole::from_request(request, state).await?;
        read(&body).map(Sent).map_err(Fault::invalid)
    }
}

/// The bytes of a body, within the limit of its route and the time its size allows.
#[derive(Debug)]
pub(crate) struct Whole(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Whole, Fault> {
        let body = request.with_limited_body().into_body();
        Ok(colony_wfm::read_body(body, usize::MAX).await.map(Whole)?)
    }
}

/// Reads a JSON body; an empty one as an empty object.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let body = if body.is_empty() { b"{}" } else { body };
    let said = |it: serde_json::Error| format!("the body cannot be read: {}", short(&it));
    serde_json::from_slice(body).map_err(said)
}

/// On one line, and without all of a long value; where it is stands at its end.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string().replace(char::is_control, " ");
    if text.len() <= 2 * HALF {
        return text;
    }
    let start: String = text.chars().take(HALF).collect();
    let end: Vec<char> = text.chars().rev().take(HALF).collect();
    format!("{start}…{}", end.iter().rev().collect::<String>())
}

/// The query of a request.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Asked<T>, Fault> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|it| Asked(it.0)).map_err(|it| Fault::invalid(it.body_text()))
    }
}

/// Reads a name somebody typed.
pub(crate) fn name<T: FromStr<Err: ToString>>(field: &str, text: &str) -> Result<T, Fault> {
    text.parse().map_err(|it: T::Err| Fault::field(field, it.to_string()))
}

#[cfg(test)]
mod tests {
    use colony_api::request::Release;
    use colony_api::site::SiteJoinRequest;

    use super::*;

    #[test]
    fn a_body_that_cannot_be_read_is_told_shortly_and_where() {
        let long = "x".repeat(1 << 20);
        let body = format!("{{\"token\":\"\",\"csr\":\"\",\"replace\":\"{long}\"}}");
        let said = read::<SiteJoinRequest>(body.as_bytes()).expect_err("no flag");
        assert!(said.chars().count() <= 2 * HALF + 30, "{} bytes", said.len());
        assert!(said.contains("expected a boolean at line 1 column 10486"), "{said}");
        let said = read::<Release>(b"{\"what\":\"\\u001b[2J\"}").expect_err("no such thing");
        assert!(!said.contains(char::is_control), "{said:?}");
        assert_eq!(read::<Release>(b""), Ok(Release::default()));
    }
}
