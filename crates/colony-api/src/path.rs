//! Paths and headers of the API.

/// The prefix of every route of the operator API.
pub const BASE: &str = "/api/v1";

/// The incarnation of the LO that sends the request: a number, sent with every
/// request.
pub const INCARNATION_HEADER: &str = "colony-incarnation";

/// `Prefer: wait=30` requests that the server holds its response.
pub const PREFER_HEADER: &str = "prefer";

/// Set by the central orchestrator when it has no hints for a site: the state
/// of Git.
pub const GIT_HEADER: &str = "colony-git";

/// The site has the current part of the branch; it need not poll Git itself.
pub const GIT_CURRENT: &str = "current";

/// The media type of a stream of events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// The id of the last event that was read; sent to resume a stream.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The event of a stream that carries one `EventView`.
pub const EVENT_NAME: &str = "event";

/// The event that tells a client to read everything again: the id it sent
/// belongs to another store.
pub const RESET_NAME: &str = "reset";
