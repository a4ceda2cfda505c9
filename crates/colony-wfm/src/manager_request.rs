//! Requests of a manager to a client, sent with the answer to a poll, and the
//! logs a client sends back.
//!
//! Margo lets only clients open a call, so a request of the manager travels in
//! the header `Colony-Asks` of an answer. Foreign clients ignore it. Requests
//! that do not fit into the header are sent with a later poll.

use colony_margo::DeploymentId;
use serde::{Deserialize, Serialize};

/// The header with the requests, as JSON.
pub const HEADER: &str = "colony-asks";
/// The header with the manifest version that a client has adopted.
pub const VERSION_HEADER: &str = "colony-manifest-version";

const MAX_HEADER: usize = 8 * 1024;
const MAX_DEPLOYMENTS: usize = 100;
const MAX_LOGS: usize = 16;
const MAX_REQUEST_ID: usize = 64;
const MAX_POSITION: usize = 2 * 1024;
const MAX_SERVICE: usize = 200;
const MAX_LOG_BYTES: usize = 256 * 1024;
const MAX_PROBLEM: usize = 4 * 1024;

/// The requests of a manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManagerRequests {
    /// Send the capabilities again.
    pub capabilities: bool,
    /// Report the status of these deployments again.
    pub deployments: Vec<DeploymentId>,
    /// Send these logs.
    pub logs: Vec<LogRequest>,
    /// Renew the certificate.
    pub renew: bool,
    /// Report the health of the node again.
    pub health: bool,
}

/// A request for the end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRequest {
    /// Up to 64 letters, digits, `.`, `-` and `_`.
    pub id: String,
    pub deployment: DeploymentId,
    /// The log of the previous containers.
    #[serde(default)]
    pub previous: bool,
    /// At most this many lines of each service: the last ones, or with `after`
    /// the next.
    pub lines: u32,
    /// No lines older than this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seconds: Option<u64>,
    /// Only this service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Only lines after a position from an earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The end of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogAnswer {
    #[serde(default)]
    pub lines: Vec<LogLine>,
    /// Whether older lines were left out to stay within the limit.
    #[serde(default)]
    pub truncated: bool,
    /// The position to continue from with `after`. Only the client understands
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Why there is no log, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A line that a service wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub service: String,
    /// When it was written, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    pub text: String,
}

impl ManagerRequests {
    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        *self == ManagerRequests::default()
    }

    /// The header's value, within its limit.
    pub fn to_header(&self) -> String {
        let mut asks = self.clone();
        asks.deployments.truncate(MAX_DEPLOYMENTS);
        asks.logs.retain(LogRequest::is_sound);
        asks.logs.truncate(MAX_LOGS);
        loop {
            let text = serde_json::to_string(&asks).unwrap_or_default();
            if text.len() <= MAX_HEADER || asks.logs.pop().is_none() {
                return text;
            }
        }
    }

    /// Reads the header's value; one that is too long or unreadable counts as
    /// no request.
    pub fn from_header(value: &[u8]) -> ManagerRequests {
        if value.len() > MAX_HEADER {
            tracing::warn!(
                bytes = value.len(),
                "manager sent requests that exceed the limit of the header; ignoring them"
            );
            return ManagerRequests::default();
        }
        let mut asks: ManagerRequests = serde_json::from_slice(value).unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the manager's requests");
            ManagerRequests::default()
        });
        asks.logs.retain(LogRequest::is_sound);
        asks
    }
}

impl LogRequest {
    /// Whether it can be part of a header and of a path.
    fn is_sound(&self) -> bool {
        let service = self.service.as_deref().is_none_or(is_service);
        is_request_id(&self.id) && service && self.after.as_deref().is_none_or(is_position)
    }
}

impl LogAnswer {
    /// The answer with the newest lines that stay within the limit.
    #[must_use]
    pub fn bounded(mut self) -> LogAnswer {
        let mut left = MAX_LOG_BYTES;
        let fits = |it: &&LogLine| {
            let size = it.service.len() + it.text.len() + 1;
            left.checked_sub(size).inspect(|rest| left = *rest).is_some()
        };
        let kept = self.lines.iter().rev().take_while(fits).count();
        let surplus = self.lines.len() - kept;
        self.lines.drain(..surplus);
        self.truncated |= surplus > 0;
        self.position = self.position.filter(|it| is_position(it));
        self.problem = self.problem.map(|it| it.chars().take(MAX_PROBLEM).collect());
        self
    }
}

/// Whether a text can be the id of a log request: it becomes part of a path.
pub fn is_request_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !matches!(id, "" | "." | "..") && id.len() <= MAX_REQUEST_ID && id.chars().all(allowed)
}

/// Whether a text can be a position in a log.
pub fn is_position(text: &str) -> bool {
    text.len() <= MAX_POSITION && is_printable(text)
}

/// Whether a text can be the name of a service.
pub fn is_service(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_SERVICE && is_printable(text)
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|it| (b' '..=b'~').contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_stays_within_its_limit_and_is_plain() {
        let request = |id: String| request(id, None);
        let mut logs: Vec<_> = (0..50).map(|it| request(format!("{it:064}"))).collect();
        logs.insert(0, request("../ä".into()));
        let deployments = (0..=255).map(id_of).collect();
        let asks =
            ManagerRequests { capabilities: true, deployments, logs, renew: true, health: true };

        let header = asks.to_header();

        assert!(header.len() <= MAX_HEADER && header.is_ascii(), "{}", header.len());
        let read = ManagerRequests::from_header(header.as_bytes());
        assert_eq!((read.deployments.len(), read.logs.len()), (MAX_DEPLOYMENTS, MAX_LOGS));
        assert_eq!(read.logs.first(), asks.logs.get(1));
        assert!(read.capabilities && read.renew && read.health);
    }

    #[test]
    fn log_requests_that_do_not_fit_wait_for_the_next_poll() {
        let long = || Some("x".repeat(MAX_POSITION));
        let mut logs: Vec<_> = (0..9).map(|it| request(it.to_string(), long())).collect();
        logs.insert(0, request("endless".to_owned(), Some("x".repeat(MAX_POSITION + 1))));
        logs.insert(0, request("sly".to_owned(), Some("a\nb".to_owned())));
        let header =
            ManagerRequests { logs, renew: true, ..ManagerRequests::default() }.to_header();
        let read = ManagerRequests::from_header(header.as_bytes());
        let ids: Vec<&str> = read.logs.iter().map(|it| it.id.as_str()).collect();
        assert!(read.renew);
        assert_eq!(ids, ["0", "1", "2"]);
    }

    #[test]
    fn what_cannot_be_read_asks_nothing() {
        for value in ["", "{", "[]", r#"{"logs": 3}"#, r#"{"deployments": ["x"]}"#] {
            assert!(ManagerRequests::from_header(value.as_bytes()).is_empty(), "{value}");
        }
        let long = format!(r#"{{"renew":true,"x":"{}"}}"#, "y".repeat(MAX_HEADER));
        assert!(ManagerRequests::from_header(long.as_bytes()).is_empty());
        assert!(ManagerRequests::from_header(br#"{"renew":true,"unknown":1}"#).renew);
        let sly = br#"{"logs":[{"id":"../x","deployment":"01010101-0101-8101-8101-010101010101","lines":1}]}"#;
        assert!(ManagerRequests::from_header(sly).is_empty());
    }

    #[test]
    fn newest_lines_of_a_log_are_kept() {
        let line = |text: String| LogLine { service: "web".into(), time: None, text };
        let lines = (0..1000).map(|it| line(format!("{it:0996}"))).collect();
        let answer = LogAnswer { lines, ..LogAnswer::default() }.bounded();
        assert_eq!((answer.lines.len(), answer.truncated), (262, true));
        assert_eq!(answer.lines.last(), Some(&line(format!("{:0996}", 999))));
        let small = LogAnswer { lines: vec![line("x".into())], ..LogAnswer::default() };
        assert_eq!(small.clone().bounded(), small);
    }

    fn request(id: String, after: Option<String>) -> LogRequest {
        let (since_seconds, service) = (None, None);
        let deployment = id_of(1);
        LogRequest { id, deployment, previous: true, lines: 9, since_seconds, service, after }
    }

    fn id_of(byte: u8) -> DeploymentId {
        DeploymentId::from_bytes([byte; 16])
    }
}
