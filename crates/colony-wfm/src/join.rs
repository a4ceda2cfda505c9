//! todo
use crate::link::LinkError;
use crate::token::TokenError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Where to ask for membership.
pub const PATH: &str = "/colony/v1/join";

/// What whoever joins sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    pub token: String,
    /// PEM.
    pub csr: String,
    /// The wished name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What a member gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// PEM: the certificate and its authority's.
    pub chain: String,
    /// PEM.
    pub roots: String,
    pub name: String,
    pub site: String,
}

/// What a member sends to renew its certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewRequest {
    /// PEM.
    pub csr: String,
}

/// Why joining did not work.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("token was used before; ask for a new one")]
    Used,
    #[error("{url} refuses: {reason}")]
    Refused { url: String, reason: String },
    #[error("no server could be reached: {}", list(.0))]
    Unreachable(Vec<(String, LinkError)>),
    #[error("{url} answers what cannot be trusted: {reason}")]
    Answer { url: String, reason: String },
}

fn list(tried: &[(String, LinkError)]) -> String {
    tried.iter().map(|(url, error)| format!("{url} ({error})")).collect::<Vec<_>>().join(", ")
}

/// Joins as a node.
pub async fn join(
    _token: &str,
    _csr_pem: &str,
    _name: Option<&str>,
    _now_unix: i64,
) -> Result<(Joined, String), JoinError> {
    todo!()
}

/// Sends any join request to the first server of the token that answers.
pub async fn ask<T: DeserializeOwned>(
    _token: &str,
    _request: &impl Serialize,
    _now_unix: i64,
) -> Result<(T, String), JoinError> {
    todo!()
}

/// The problem that says that a token was used before (409).
pub fn token_used() -> colony_margo::Problem {
    todo!()
}

/// The problem that says why a token is not accepted (403).
pub fn token_refused(_error: &TokenError) -> colony_margo::Problem {
    todo!()
}
