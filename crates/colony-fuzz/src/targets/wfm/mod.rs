//! Readers of `colony-wfm`: tokens, identities, certificates, headers.

mod certificate;
mod header;
mod token;

use crate::Shape::{Bytes, Json, Text};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[
    Target::new("wfm_token", Text, TOKEN, token::token),
    Target::new("wfm_spiffe", Text, SPIFFE, token::spiffe),
    Target::new("wfm_certificate", Bytes, PEM, certificate::certificate),
    Target::new("wfm_request", Text, PEM, certificate::request),
    Target::new("wfm_asks", Json, ASKS, header::asks),
    Target::new("wfm_poll", Text, HEADERS, header::poll),
    Target::new("wfm_url", Text, URL, header::url),
    Target::new("wfm_report", Json, REPORT, header::report),
];

const TOKEN: &[&str] =
    &["col1_", "_", "-", "=", "eyJ", "kind", "node", "site", "replace", "expires", " "];
const SPIFFE: &[&str] = &[
    "spiffe://",
    "/margo/wfm/",
    "/client/",
    "/colony/site/",
    "/colony/central",
    "..",
    ".",
    "/",
    "%2f",
    "A",
    "é",
];
const PEM: &[&str] = &[
    "-----BEGIN CERTIFICATE-----\n",
    "-----END CERTIFICATE-----\n",
    "-----BEGIN CERTIFICATE REQUEST-----\n",
    "-----END CERTIFICATE REQUEST-----\n",
    "MII",
    "====",
    "\0",
    "spiffe://",
    "\u{30}\u{82}",
];
const ASKS: &[&str] =
    &["deployments", "logs", "id", "deployment", "previous", "lines", "..", "a/b", "4294967296"];
const HEADERS: &[&str] = &[
    "prefer",
    "wait=",
    "60",
    "4294967296",
    "accept",
    "application/*",
    "*/*",
    ";q=0",
    ";q=nan",
    "if-none-match",
    "W/\"",
    "\"",
    ",",
    ":",
];
const URL: &[&str] =
    &["https://", "http://", "[::1]", ":443", ":99999", "@", "?", "#", "/v1", "..", "%00"];
const REPORT: &[&str] = &[
    "lines",
    "service",
    "text",
    "truncated",
    "problem",
    "pulls",
    "doneBytes",
    "totalBytes",
    "18446744073709551615",
];
