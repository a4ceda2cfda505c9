//! The event log, for people and programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use colony_core::time::Timestamp;

/// One event; also the data of an SSE message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// `<epoch>-<position>`: also the id of the SSE message.
    pub id: String,
    /// Rising in the order of arrival.
    pub position: i64,
    #[schema(value_type = u64)]
    pub at: Timestamp,
    /// Such as `state_transition`.
    pub kind: String,
    /// Absent: the central orchestrator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The deployment's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    pub actor: String,
    /// What happened, as a sentence.
    pub sentence: String,
    /// All of it.
    pub body: Value,
}

/// `GET /api/v1/events` without a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    /// In the order of arrival.
    pub events: Vec<EventView>,
    /// Of the store; positions of another epoch mean nothing here.
    pub epoch: String,
    /// The position to go on `after`.
    pub next: i64,
    /// There are more behind `next`.
    #[serde(default)]
    pub more: bool,
}

impl EventPage {
    /// The id to resume a stream with, so that nothing behind this page is missed.
    pub fn cursor(&self) -> String {
        format!("{}-{}", self.epoch, self.next)
    }
}
