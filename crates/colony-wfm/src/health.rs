//! The health of a node, besides the state of its deployments: whether it is
//! ready, and the progress of image pulls.
//!
//! Transient information, sent on changes and stored nowhere; a manager may
//! ignore it.

use std::collections::BTreeMap;

use colony_margo::DeploymentId;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

const MAX_REASONS: usize = 16;
const MAX_REASON: usize = 512;
const MAX_PROGRESS: usize = 256;

/// `POST /colony/v1/health`: the present health of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// It can do its job.
    pub ready: bool,
    /// Why it cannot.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Image pulls in progress, each deployment once.
    #[serde(default)]
    pub progress: Vec<PullView>,
}

/// The answer of every role at `/readyz`: 200 or 503, as JSON, or as lines if
/// the client accepts `text/plain`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// It can do its job.
    pub ready: bool,
    /// Why it cannot, or which parts it works without.
    pub reasons: Vec<String>,
}

impl Readiness {
    /// Ready if there are no reasons.
    pub fn unless(reasons: Vec<String>) -> Readiness {
        Readiness { ready: reasons.is_empty(), reasons }
    }

    pub fn status(&self) -> StatusCode {
        if self.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
    }

    /// The media type and the body for a request with these headers.
    pub fn body(&self, headers: &HeaderMap) -> (&'static str, String) {
        let accept = headers.get(ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let plain = accept.split(',').any(|it| it.trim().starts_with("text/plain"));
        match plain && !accept.contains("application/json") {
            true => ("text/plain; charset=utf-8", self.lines()),
            false => ("application/json", serde_json::to_string(self).unwrap_or_default()),
        }
    }

    fn lines(&self) -> String {
        let first = if self.ready { "ready" } else { "not ready" };
        let all = std::iter::once(first).chain(self.reasons.iter().map(String::as_str));
        all.map(|it| format!("{it}\n")).collect()
    }
}

/// The progress of a deployment's image pulls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullView {
    pub deployment: DeploymentId,
    pub done_bytes: u64,
    /// The sum known so far; it grows while layers are announced.
    pub total_bytes: u64,
}

impl NodeReport {
    /// The report within its limits.
    #[must_use]
    pub fn bounded(mut self) -> NodeReport {
        self.reasons.truncate(MAX_REASONS);
        let short = |it: String| it.chars().take(MAX_REASON).collect();
        self.reasons = self.reasons.into_iter().map(short).collect();
        let mut sums: BTreeMap<DeploymentId, PullView> = BTreeMap::new();
        for pull in self.progress {
            match sums.get_mut(&pull.deployment) {
                Some(sum) => sum.add(&pull),
                None => drop(sums.insert(pull.deployment.clone(), pull)),
            }
        }
        self.progress = sums.into_values().take(MAX_PROGRESS).collect();
        self
    }
}

impl PullView {
    fn add(&mut self, other: &PullView) {
        self.done_bytes = self.done_bytes.saturating_add(other.done_bytes);
        self.total_bytes = self.total_bytes.saturating_add(other.total_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_of_a_deployment_are_one_and_everything_has_an_end() {
        let progress = vec![pull(2, 1, 10), pull(1, 3, 4), pull(2, u64::MAX, 5)];
        let reasons = (0..50).map(|it| format!("{it} {}", "ä".repeat(600))).collect();
        let report = NodeReport { ready: false, reasons, progress }.bounded();
        assert_eq!(report.progress, [pull(1, 3, 4), pull(2, u64::MAX, 15)]);
        assert_eq!(report.reasons.len(), MAX_REASONS);
        assert!(report.reasons.iter().all(|it| it.chars().count() == MAX_REASON));
        let many = (0..=255).flat_map(|it| [pull(it, 1, 1), other(it)]).collect();
        let report = NodeReport { progress: many, ..NodeReport::default() }.bounded();
        assert_eq!(report.progress.len(), MAX_PROGRESS);
        assert_eq!(report.clone().bounded(), report);
    }

    #[test]
    fn readiness_is_json_unless_somebody_asks_for_text() {
        let (well, ill) = (Readiness::unless(vec![]), Readiness::unless(vec!["no disk".into()]));
        check(&well, "", r#"200 application/json {"ready":true,"reasons":[]}"#);
        check(&ill, "*/*", r#"503 application/json {"ready":false,"reasons":["no disk"]}"#);
        check(&well, "text/plain", "200 text/plain; charset=utf-8 ready\n");
        check(&ill, "text/plain;q=0.9", "503 text/plain; charset=utf-8 not ready\nno disk\n");
        let both = "application/json, text/plain, */*";
        check(&well, both, r#"200 application/json {"ready":true,"reasons":[]}"#);
    }

    #[track_caller]
    fn check(readiness: &Readiness, accept: &str, expected: &str) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().expect("a header"));
        let (kind, body) = readiness.body(&headers);
        assert_eq!(format!("{} {kind} {body}", readiness.status().as_u16()), expected);
    }

    fn pull(byte: u8, done_bytes: u64, total_bytes: u64) -> PullView {
        PullView { deployment: DeploymentId::from_bytes([byte; 16]), done_bytes, total_bytes }
    }

    fn other(byte: u8) -> PullView {
        let mut bytes = [byte; 16];
        bytes[0] = byte.wrapping_add(1);
        PullView { deployment: DeploymentId::from_bytes(bytes), done_bytes: 0, total_bytes: 0 }
    }
}
