//! Changes that wait for Git.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::time::Timestamp;

/// `GET /api/v1/changes`: one commit that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView {
    pub id: String,
    /// When it was accepted.
    #[schema(value_type = u64)]
    pub at: Timestamp,
    pub actor: String,
    pub message: String,
    /// The files it writes or removes.
    pub paths: Vec<String>,
    /// What is wrong with Git; absent if it is written in a moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}
