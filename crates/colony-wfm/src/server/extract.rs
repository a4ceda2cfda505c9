//! The parts of a request, read with limits and answered with problems: the
//! same at every orchestrator.

use axum::RequestExt as _;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use bytes::Bytes;
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::Refusal;
use super::body::{self, invalid};

/// How much of the beginning and of the end of a long error is kept.
const HALF: usize = 200;

/// A JSON object as body. An empty body reads as an empty object.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<JsonBody<T>, Refusal> {
        let WholeBody(body) = WholeBody::from_request(request, state).await?;
        Ok(read_object(&body).map(JsonBody).map_err(invalid)?)
    }
}

/// The bytes of a body, within the limit of its route and the time its size
/// allows.
#[derive(Debug)]
pub struct WholeBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for WholeBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<WholeBody, Refusal> {
        let body = request.with_limited_body().into_body();
        Ok(body::read(body, usize::MAX).await.map(WholeBody)?)
    }
}

/// Parses a JSON object; an empty text counts as an empty object. A list is
/// refused, although serde would accept it as the fields in their order.
pub fn read_object<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let body = if body.is_empty() { b"{}" } else { body };
    let start = body.iter().position(|it| !it.is_ascii_whitespace()).unwrap_or_default();
    if body.get(start) == Some(&b'[') {
        let before = &body[..start];
        let line = before.iter().filter(|it| **it == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|it| **it != b'\n').count() + 1;
        let place = format!("at line {line} column {column}");
        return Err(format!("the body cannot be read: a list, expected an object {place}"));
    }
    let said = |it: serde_json::Error| format!("the body cannot be read: {}", short(&it));
    serde_json::from_slice(body).map_err(said)
}

/// The error on one line, with a long value cut in the middle; the position is
/// at its end.
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
pub struct QueryParameters<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = Refusal;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &S,
    ) -> Result<QueryParameters<T>, Refusal> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        Ok(query.map(|it| QueryParameters(it.0)).map_err(|it| invalid(it.body_text()))?)
    }
}

#[cfg(test)]
mod tests {
    use crate::JoinRequest;

    use super::*;

    #[test]
    fn a_body_that_cannot_be_read_is_told_shortly_and_where() {
        let long = "x".repeat(1 << 20);
        let said = said(&format!("{{\"token\":\"\",\"csr\":[\"{long}\"]}}"));
        assert!(said.chars().count() <= 2 * HALF + 30, "{} bytes", said.len());
        assert!(said.contains("expected a string at line 1 column 18"), "{said}");
        let said = super::tests::said("{\"token\":{\"\\u001b[2J\":1}}");
        assert!(!said.contains(char::is_control), "{said:?}");
        assert!(super::tests::said("").contains("missing field `token`"));
        assert!(
            super::tests::said(" []").ends_with("a list, expected an object at line 1 column 2")
        );
        assert!(super::tests::said("\n\n [").ends_with("at line 3 column 2"));
    }

    fn said(body: &str) -> String {
        read_object::<JoinRequest>(body.as_bytes()).expect_err("fields are missing")
    }
}
