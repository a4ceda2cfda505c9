//! What a request carries, read with limits and answered with problems.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use colony_margo::Problem;
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// A JSON body. An empty one reads as an empty object.
#[derive(Debug)]
pub(crate) struct Sent<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Sent<T>, Fault> {
        let body = Bytes::from_request(request, state).await.map_err(|it| {
            let status = it.status().as_u16();
            Fault::from(Problem::about_blank(status).detail(it.body_text()))
        })?;
        let body = if body.is_empty() { Bytes::from_static(b"{}") } else { body };
        let read = serde_json::from_slice(&body);
        read.map(Sent).map_err(|it| Fault::invalid(format!("the body cannot be read: {it}")))
    }
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
