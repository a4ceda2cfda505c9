//! Tokens of operators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::time::Timestamp;

/// `GET /api/v1/tokens`, and the answer of `POST`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// The sites it is for; empty: all.
    pub sites: Vec<String>,
    #[schema(value_type = u64)]
    pub created: Timestamp,
    /// Absent: it is good until it is deleted.
    #[schema(value_type = Option<u64>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Shown once, when it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}
