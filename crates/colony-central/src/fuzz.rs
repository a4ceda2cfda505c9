//! Public access to private parsers, for the fuzzers alone.

use std::cmp::Ordering;

use axum::http::HeaderMap;
use serde::de::DeserializeOwned;

use crate::auth;
use crate::catalog::version;

pub use crate::backup::Unpacked;

/// A backup in memory.
pub fn backup(bytes: &[u8]) -> Result<Unpacked, String> {
    crate::backup::unpacked(bytes).map_err(|it| format!("{it:#}"))
}

/// The body of a request, or the error that its sender gets.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    colony_wfm::server::read_object(bytes)
}

/// The token of a request.
pub fn token(headers: &HeaderMap) -> Option<String> {
    auth::presented(headers)
}

/// Which of two versions of the catalog is newer.
pub fn compare(a: &str, b: &str) -> Ordering {
    version::compare(a, b)
}

/// The version that is used when none is named.
pub fn newest<'a>(versions: &[&'a str]) -> Option<&'a str> {
    version::newest(versions.iter().copied())
}

/// Whether a version is only used on request.
pub fn is_prerelease(text: &str) -> bool {
    version::is_prerelease(text)
}
