//! Access to private parsers, for the fuzzers only.

use crate::identity::{IdentityError, SpiffeId, svid};
use crate::link::url::Base;

/// The certificates of a PEM text.
pub fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, IdentityError> {
    Ok(svid::certificates(pem)?.iter().map(|it| it.to_vec()).collect())
}

/// The id in a certificate.
pub fn id(der: &[u8]) -> Result<SpiffeId, IdentityError> {
    svid::id(der)
}

/// The trust domain of a root.
pub fn root_domain(der: &[u8]) -> Result<String, IdentityError> {
    svid::root_domain(der)
}

/// From when until when a certificate is valid.
pub fn validity(der: &[u8]) -> Result<(i64, i64), IdentityError> {
    svid::validity(der)
}

/// The public key of a certificate.
pub fn public_key(der: &[u8]) -> Result<Vec<u8>, IdentityError> {
    svid::public_key(der)
}

/// Host, port, authority and the prefix of all paths of a server's URL.
pub fn base_url(url: &str) -> Option<(String, u16, String, String)> {
    Base::parse(url).map(|it| (it.host, it.port, it.authority, it.prefix))
}

/// The headers of a poll: the client's manifest, how long it waits, whether it
/// accepts a manifest.
#[cfg(feature = "server")]
pub fn poll(headers: &http::HeaderMap) -> (crate::Have, std::time::Duration, bool) {
    use crate::server::poll;
    (poll::have(headers), poll::wait(headers), poll::accepts_manifest(headers))
}
