//! Errors of HTTP and TLS, each with advice for the operator.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

use reqwest::StatusCode;
use reqwest::blocking::Response;
use rustls::CertificateError;

use crate::transport::advice;

/// Turns an answer with an error status into an error.
pub(super) fn judged(response: Response) -> io::Result<Response> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let to = response.headers().get("location").and_then(|it| it.to_str().ok());
    let (kind, advice) = by_status(status, to);
    Err(io::Error::new(kind, format!("the server answered {status}{advice}")))
}

fn by_status(status: StatusCode, to: Option<&str>) -> (ErrorKind, String) {
    let text = |it: &str| format!(": {it}");
    match (status.as_u16(), to) {
        (401, _) => (ErrorKind::PermissionDenied, text(advice::TOKEN)),
        (403, _) => (
            ErrorKind::PermissionDenied,
            text("access was denied; the token needs access to this repository"),
        ),
        (404, _) => {
            (ErrorKind::NotFound, text("there is no repository at this address, or none to show"))
        }
        (300..=399, Some(to)) => {
            let to = to.split("/info/refs").next().unwrap_or(to);
            (ErrorKind::Other, format!(": it is at `{to}`; set that as the address"))
        }
        (500..=599, _) => (ErrorKind::ConnectionAborted, String::new()),
        (_, _) => (ErrorKind::Other, String::new()),
    }
}

pub(super) fn error(error: &reqwest::Error) -> io::Error {
    io::Error::other(of(error))
}

/// The whole error chain without the URL, which is known, and with advice if
/// TLS failed.
pub(super) fn of(error: &reqwest::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut tls = None;
    let mut cause: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(it) = cause {
        parts.push(it.to_string());
        tls = tls.or_else(|| tls_error(it));
        cause = it.source();
    }
    parts.dedup();
    if parts.is_empty() {
        parts.push(error.to_string());
    }
    let text = parts.join(": ");
    match tls.and_then(tls_advice) {
        Some(advice) => format!("{text}: {advice}"),
        None => text,
    }
}

/// Errors of TLS are wrapped, and a wrapper does not return its content as
/// source.
fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<io::Error>() {
        Some(wrapping) => tls_error(wrapping.get_ref()?),
        None => error.downcast_ref::<rustls::Error>(),
    }
}

fn tls_advice(error: &rustls::Error) -> Option<&'static str> {
    if let rustls::Error::AlertReceived(_) = error {
        return Some(
            "the server does not take this site's certificate; it may have ended, or the site was replaced",
        );
    }
    let rustls::Error::InvalidCertificate(reason) = error else { return None };
    // An authority that was recreated under its old name has another key, so
    // its signatures do not match.
    if matches!(reason, CertificateError::UnknownIssuer | CertificateError::BadSignature) {
        return Some(advice::UNKNOWN_AUTHORITY);
    }
    if matches!(reason, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        return Some("the server's certificate has ended, or this machine's clock is wrong");
    }
    let other = matches!(
        reason,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    );
    other.then_some("the certificate is for another name; use the name in it as the address")
}
