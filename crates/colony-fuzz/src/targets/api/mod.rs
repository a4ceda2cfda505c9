//! Readers of `colony-api`: streams, queries, requests.

use axum::extract::Query;
use axum::http::Uri;
use colony_api::fuzz;
use colony_api::request::{DeleteQuery, DeployRequest, EventQuery, Hold, LogsQuery, SiteQuery};
use colony_api::site::{EventBatch, Hints, NodesReport, SiteJoined};
use colony_api::view::EventView;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Shape::{Json, Text};
use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target::new("api_stream", Text, STREAM, stream),
    Target::new("api_query", Text, QUERY, query),
    Target::new("api_request", Json, REQUEST, request),
];

const STREAM: &[&str] = &[
    "data:",
    "data: ",
    "event:",
    "id:",
    "retry:",
    ":",
    "\n\n",
    "\r\n",
    "\r",
    "event: reset\n",
    "\u{feff}",
];
const QUERY: &[&str] = &[
    "site=",
    "app=",
    "deployment=",
    "node=",
    "kind=",
    "after=",
    "limit=",
    "last=",
    "previous=",
    "lines=",
    "sites=",
    "force=",
    "dryRun=",
    "true",
    "-1",
    "9223372036854775808",
    "%00",
    "%",
    "+",
    "&",
    "%ff",
];
const REQUEST: &[&str] = &[
    "app", "version", "sites", "values", "strategy", "profile", "name", "by", "note", "events",
    "seq", "nodes", "kind", "id", "at", "body", "from", "to",
];

/// However a stream is cut, it says the same.
fn stream(input: &[u8]) -> Outcome {
    let whole = fuzz::stream([input]);
    let width = 1 + input.len() % 7;
    assert_eq!(
        fuzz::stream(input.chunks(width)),
        whole,
        "in pieces of {width} it says something else"
    );
    let Some(told) = whole else { return Outcome::refused("too large") };
    let held: usize = told.iter().map(|it| it.2.len()).sum();
    assert!(held <= 3 * input.len(), "{held} bytes out of {}", input.len());
    let kinds: String =
        told.iter().take(6).map(|it| if it.0.is_some() { 'e' } else { 'm' }).collect();
    let ids = told.iter().any(|it| it.1.is_some());
    Outcome::taken(format!("{kinds} {ids}"))
}

fn query(input: &[u8]) -> Outcome {
    let Ok(uri) = Uri::try_from([b"/x?", input].concat()) else {
        return Outcome::refused("no query");
    };
    let taken = [
        asked::<EventQuery>(&uri),
        asked::<LogsQuery>(&uri),
        asked::<DeleteQuery>(&uri),
        asked::<SiteQuery>(&uri),
    ];
    Outcome::taken(taken.map(|it| if it { 'x' } else { '-' }).iter().collect::<String>())
}

fn asked<T: DeserializeOwned + Serialize>(uri: &Uri) -> bool {
    let Ok(Query(query)) = Query::<T>::try_from_uri(uri) else { return false };
    again(&query);
    true
}

fn request(input: &[u8]) -> Outcome {
    let taken = [
        sent::<DeployRequest>(input),
        sent::<Hold>(input),
        sent::<EventBatch>(input),
        sent::<NodesReport>(input),
        sent::<Hints>(input),
        sent::<SiteJoined>(input),
        sent::<EventView>(input),
    ];
    Outcome::taken(taken.map(|it| if it { 'x' } else { '-' }).iter().collect::<String>())
}

fn sent<T: DeserializeOwned + Serialize>(input: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<T>(input) else { return false };
    again(&value);
    true
}

/// What was taken is sent on as it was taken.
fn again<T: DeserializeOwned + Serialize>(value: &T) {
    let text = serde_json::to_string(value).expect("JSON");
    let read: T = serde_json::from_str(&text)
        .unwrap_or_else(|it| panic!("we send what we refuse: {it}\n{text}"));
    assert_eq!(serde_json::to_string(&read).expect("JSON"), text, "sent on it differs");
}
