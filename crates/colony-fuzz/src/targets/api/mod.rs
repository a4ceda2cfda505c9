//! Readers of `colony-api`: streams, queries, requests.

mod body;

use axum::extract::Query;
use axum::http::Uri;
use colony_api::fuzz;
use colony_api::request::{DeleteQuery, EventQuery, LogsQuery, SiteQuery};
use colony_api::site::HintsQuery;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Shape::{Json, Text};
use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target::new("api_stream", Text, STREAM, stream),
    Target::new("api_query", Text, QUERY, query),
    Target::new("api_request", Json, REQUEST, body::request),
    Target::new("api_view", Json, VIEW, body::view),
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
    "head=",
    "command=",
    "logs=",
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
    "token",
    "csr",
    "replace",
    "name",
    "application",
    "version",
    "sites",
    "node",
    "settings",
    "selector",
    "clear",
    "parameters",
    "profile",
    "strategy",
    "type",
    "maxUnavailable",
    "canary",
    "steps",
    "soak",
    "promote",
    "retry",
    "installs",
    "updates",
    "progressDeadline",
    "follow",
    "onFailure",
    "replicas",
    "dryRun",
    "planHash",
    "labels",
    "lifetimeSeconds",
    "url",
    "branch",
    "file",
    "text",
    "note",
    "what",
    "removal",
    "history",
    "to",
    "role",
    "head",
    "command",
    "logs",
    "incarnation",
    "events",
    "seq",
    "at",
    "body",
    "prev",
    "actor",
    "kind",
    "ready",
    "reasons",
    "urls",
    "ca",
    "caPem",
    "domain",
    "nodes",
    "lastHeardMsAgo",
    "engine",
    "progress",
    "deployment",
    "doneBytes",
    "totalBytes",
    "commands",
    "id",
    "previous",
    "lines",
    "truncated",
    "problem",
    "chain",
    "roots",
    "tokenPublic",
    "git",
    "auth",
    "mtls",
    "nextSeq",
    "current",
    "status",
    "title",
    "blue-green",
    "rollback-site",
    "manual",
    "4294967296",
    "18446744073709551616",
];
const VIEW: &[&str] = &[
    "name",
    "site",
    "node",
    "state",
    "since",
    "outcome",
    "sites",
    "placements",
    "rollout",
    "paused",
    "stopped",
    "quarantine",
    "rolledBack",
    "conflicts",
    "history",
    "entries",
    "sentence",
    "reasons",
    "lines",
    "position",
    "events",
    "kind",
    "actor",
    "at",
    "body",
    "plan",
    "targets",
    "action",
    "changes",
    "diff",
    "hash",
    "role",
    "expires",
    "nodes",
    "attention",
    "deployments",
    "presence",
    "holds",
    "counts",
    "online",
    "INSTALLED",
    "18446744073709551616",
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
        reads::<EventQuery>(&uri),
        reads::<LogsQuery>(&uri),
        reads::<DeleteQuery>(&uri),
        reads::<SiteQuery>(&uri),
        reads::<HintsQuery>(&uri),
    ];
    Outcome::taken(taken.map(|it| if it { 'x' } else { '-' }).iter().collect::<String>())
}

fn reads<T: DeserializeOwned + Serialize>(uri: &Uri) -> bool {
    let Ok(Query(query)) = Query::<T>::try_from_uri(uri) else { return false };
    body::again(&query);
    true
}
