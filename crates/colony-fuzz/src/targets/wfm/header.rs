//! Headers and small bodies of the Margo interface.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use colony_wfm::manager_request::is_request_id;
use colony_wfm::{LogAnswer, ManagerRequests, NodeReport, fuzz};

use crate::{Outcome, hold};

pub(super) fn asks(input: &[u8]) -> Outcome {
    let asks = ManagerRequests::from_header(input);
    assert!(asks.logs.iter().all(|it| is_request_id(&it.id)), "{asks:?} has an id that is a path");
    let header = asks.to_header();
    assert!(header.len() <= 16 << 10, "a header of {} bytes", header.len());
    assert!(HeaderValue::from_str(&header).is_ok(), "{header:?} is not a header");
    let again = ManagerRequests::from_header(header.as_bytes());
    assert_eq!(again.to_header(), header, "asked again it differs");
    Outcome::taken(format!("{} {}", !asks.deployments.is_empty(), !asks.logs.is_empty()))
}

/// Lines `name: value`.
pub(super) fn poll(input: &[u8]) -> Outcome {
    let mut headers = HeaderMap::new();
    for line in input.split(|it| *it == b'\n').take(32) {
        let at = line.iter().position(|it| *it == b':').unwrap_or(line.len());
        let name = HeaderName::from_bytes(&line[..at]);
        let value = HeaderValue::from_bytes(line.get(at + 1..).unwrap_or_default().trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let (have, wait, accepts) = fuzz::poll(&headers);
    assert!(wait.as_secs() <= 60, "held for {wait:?}");
    let etag = have.etag.unwrap_or_default();
    assert!(!etag.starts_with('"') && !etag.ends_with('"'), "{etag:?}");
    Outcome::taken(format!(
        "{} {} {} {accepts}",
        !etag.is_empty(),
        have.version.is_some(),
        !wait.is_zero()
    ))
}

pub(super) fn url(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let Some((host, port, authority, prefix)) = fuzz::base_url(&text) else {
        return Outcome::refused("no URL");
    };
    assert!(!host.is_empty() && !host.contains(['@', '/', '[', ']', '?']), "{host:?} of {text:?}");
    assert!(!authority.contains('@'), "{authority:?} has a login");
    assert!(prefix.is_empty() || (prefix.starts_with('/') && !prefix.ends_with('/')), "{prefix:?}");
    let again = fuzz::base_url(&format!("https://{authority}{prefix}"));
    hold::same(&again, &Some((host, port, authority, prefix.clone())), &text);
    Outcome::taken(format!("{} {}", port == 443, prefix.is_empty()))
}

/// Logs and health, as a node sends them.
pub(super) fn report(input: &[u8]) -> Outcome {
    let logs = serde_json::from_slice::<LogAnswer>(input).map(LogAnswer::bounded);
    let health = serde_json::from_slice::<NodeReport>(input).map(NodeReport::bounded);
    if let Ok(logs) = &logs {
        hold::same(&logs.clone().bounded(), logs, "a bounded answer");
        let text = serde_json::to_string(logs).expect("JSON");
        let again: LogAnswer = serde_json::from_str(&text).expect("our answer is read");
        hold::same(&again, logs, &text);
    }
    if let Ok(health) = &health {
        hold::same(&health.clone().bounded(), health, "a bounded report");
    }
    Outcome::taken(format!("{} {}", logs.is_ok(), health.is_ok()))
}
