//! Where things are, and the headers of the API.

/// The prefix of every route of the operator API.
pub const BASE: &str = "/api/v1";

/// Which LO of its site is speaking: a number, sent with every request.
pub const INCARNATION_HEADER: &str = "colony-incarnation";

/// `Prefer: wait=30` asks the server to hold its answer.
pub const PREFER_HEADER: &str = "prefer";

/// What the central orchestrator says of Git when it has no news for a site.
pub const GIT_HEADER: &str = "colony-git";

/// The site has what the branch holds for it; it need not ask itself.
pub const GIT_CURRENT: &str = "current";

/// The media type of a stream of events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Where the last event was read; sent to resume a stream.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The event of a stream that carries one `EventView`.
pub const EVENT_NAME: &str = "event";

/// The event that says: the id you sent is of another store, read all again.
pub const RESET_NAME: &str = "reset";
