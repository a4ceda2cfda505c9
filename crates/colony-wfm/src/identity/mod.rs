//! SPIFFE ids: the identity of a peer, as its certificate states it. Beside
//! them: the keys, certificates, authorities and tokens that make up an
//! identity.
//!
//! An id is `spiffe://<trust domain>/<path>`. Its segments are opaque and
//! case-sensitive. The forms that colony and Margo give meaning to are made
//! and recognised here, and nowhere else.

pub mod authority;
pub mod credentials;
pub mod key;
pub(crate) mod svid;
pub mod token;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const SCHEME: &str = "spiffe://";
const CENTRAL: &str = "/colony/central";
const MAX_BYTES: usize = 2048;
const MAX_DOMAIN: usize = 255;

/// A SPIFFE id with a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpiffeId {
    text: String,
    /// Where the path begins, at its slash.
    path: usize,
}

/// Why a text is not a SPIFFE id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpiffeError {
    #[error("SPIFFE id has {0} bytes; at most {MAX_BYTES} are allowed")]
    TooLong(usize),
    #[error("SPIFFE id does not begin with `{SCHEME}`")]
    Scheme,
    #[error("trust domain `{0}` must consist of lower-case letters, digits, `.`, `-` and `_`")]
    TrustDomain(String),
    #[error("SPIFFE id has no path")]
    NoPath,
    #[error("segment `{0}` must consist of letters, digits, `.`, `-` and `_`")]
    Segment(String),
}

/// Why keys or certificates could not be made, read or stored.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("could not {doing} {}", path.display())]
    File {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not {doing}")]
    Crypto {
        doing: &'static str,
        #[source]
        source: rcgen::Error,
    },
    #[error("could not set up TLS")]
    Tls(#[source] rustls::Error),
    #[error("certificate has an invalid SPIFFE id")]
    Spiffe(#[from] SpiffeError),
    #[error("certificate is not usable: {0}")]
    Certificate(String),
    #[error("certificate request is refused: {0}")]
    Request(String),
    #[error("private key does not belong to the certificate")]
    KeyMismatch,
    #[error("private key is not usable")]
    Key,
}

impl SpiffeId {
    /// The id with this trust domain and path; the path begins with a slash.
    pub fn new(domain: &str, path: &str) -> Result<SpiffeId, SpiffeError> {
        check_domain(domain)?;
        let text = format!("{SCHEME}{domain}{path}");
        if text.len() > MAX_BYTES {
            return Err(SpiffeError::TooLong(text.len()));
        }
        check_path(path)?;
        Ok(SpiffeId { path: SCHEME.len() + domain.len(), text })
    }

    /// The central orchestrator of a fleet.
    pub fn central(domain: &str) -> Result<SpiffeId, SpiffeError> {
        SpiffeId::new(domain, CENTRAL)
    }

    /// A site's orchestrator, as a client of the central orchestrator.
    pub fn site_client(domain: &str, site: &str) -> Result<SpiffeId, SpiffeError> {
        SpiffeId::new(domain, &format!("/colony/site/{}", segment(site)?))
    }

    /// A workload fleet manager.
    pub fn wfm(domain: &str, wfm: &str) -> Result<SpiffeId, SpiffeError> {
        SpiffeId::new(domain, &format!("/margo/wfm/{}", segment(wfm)?))
    }

    /// A client of a workload fleet manager.
    pub fn wfm_client(domain: &str, wfm: &str, client: &str) -> Result<SpiffeId, SpiffeError> {
        let path = format!("/margo/wfm/{}/client/{}", segment(wfm)?, segment(client)?);
        SpiffeId::new(domain, &path)
    }

    /// The trust domain.
    pub fn trust_domain(&self) -> &str {
        &self.text[SCHEME.len()..self.path]
    }

    /// The path, from its first slash on.
    pub fn path(&self) -> &str {
        &self.text[self.path..]
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The manager in this id, if it is a manager's.
    pub fn as_wfm(&self) -> Option<&str> {
        single(self.path().strip_prefix("/margo/wfm/")?)
    }

    /// The manager and its client, if this is the id of a client.
    pub fn as_wfm_client(&self) -> Option<(&str, &str)> {
        let (wfm, client) = self.path().strip_prefix("/margo/wfm/")?.split_once("/client/")?;
        Some((single(wfm)?, single(client)?))
    }

    /// Whether this is the id of a server.
    pub(crate) fn is_server(&self) -> bool {
        self.as_wfm().is_some() || self.path() == CENTRAL
    }

    /// The site, if this is the id of a site's orchestrator.
    pub fn as_site_client(&self) -> Option<&str> {
        single(self.path().strip_prefix("/colony/site/")?)
    }
}

fn single(rest: &str) -> Option<&str> {
    (!rest.contains('/')).then_some(rest)
}

/// Checks that `domain` can be a trust domain.
pub(crate) fn check_domain(domain: &str) -> Result<(), SpiffeError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    if domain.is_empty() || domain.len() > MAX_DOMAIN || !domain.chars().all(allowed) {
        return Err(SpiffeError::TrustDomain(domain.chars().take(64).collect()));
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), SpiffeError> {
    let segments = path.strip_prefix('/').ok_or(SpiffeError::NoPath)?;
    segments.split('/').try_for_each(|it| segment(it).map(|_| ()))
}

fn segment(text: &str) -> Result<&str, SpiffeError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if matches!(text, "" | "." | "..") || !text.chars().all(allowed) {
        return Err(SpiffeError::Segment(text.chars().take(64).collect()));
    }
    Ok(text)
}

impl FromStr for SpiffeId {
    type Err = SpiffeError;

    fn from_str(text: &str) -> Result<SpiffeId, SpiffeError> {
        let rest = text.strip_prefix(SCHEME).ok_or(SpiffeError::Scheme)?;
        let slash = rest.find('/').unwrap_or(rest.len());
        let (domain, path) = rest.split_at(slash);
        SpiffeId::new(domain, path)
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpiffeId({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_recognised_by_their_form() {
        check("spiffe://site-a.1f/margo/wfm/a", "site-a.1f wfm a");
        check("spiffe://site-a.1f/margo/wfm/a/client/n-1", "site-a.1f client n-1 of a");
        check("spiffe://fleet.1f/colony/site/Plant_B", "fleet.1f site Plant_B");
        check("spiffe://fleet.1f/colony/central", "fleet.1f other /colony/central");
        check("spiffe://d/margo/wfm/a/client/n/x", "d other /margo/wfm/a/client/n/x");
        check("spiffe://d/margo/wfm/a/b", "d other /margo/wfm/a/b");
    }

    #[test]
    fn flaws_are_named() {
        refuse("https://d/a", "SPIFFE id does not begin with `spiffe://`");
        refuse("spiffe://d", "SPIFFE id has no path");
        refuse("spiffe:///a", "trust domain `` must consist of");
        refuse("spiffe://D/a", "trust domain `D` must consist of");
        refuse("spiffe://d:1/a", "trust domain `d:1` must consist of");
        refuse("spiffe://d/", "segment `` must consist of");
        refuse("spiffe://d/a//b", "segment `` must consist of");
        refuse("spiffe://d/../b", "segment `..` must consist of");
        refuse("spiffe://d/a%20b", "segment `a%20b` must consist of");
        refuse(&format!("spiffe://d/{}", "a".repeat(2048)), "SPIFFE id has 2059 bytes");
        refuse(&format!("spiffe://d/{}", "a".repeat(2038)), "SPIFFE id has 2049 bytes");
        assert!(format!("spiffe://d/{}", "a".repeat(2037)).parse::<SpiffeId>().is_ok());
        refuse(&format!("spiffe://{}/a", "d".repeat(256)), "trust domain `dddd");
        assert!(format!("spiffe://{}/a", "d".repeat(255)).parse::<SpiffeId>().is_ok());
    }

    #[test]
    fn no_name_smuggles_in_a_segment() {
        for name in ["a/client/b", "", "..", "a b"] {
            assert!(SpiffeId::wfm("d", name).is_err(), "{name}");
            assert!(SpiffeId::wfm_client("d", "a", name).is_err(), "{name}");
            assert!(SpiffeId::site_client("d", name).is_err(), "{name}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let id: SpiffeId = text.parse().unwrap();
        let form = match (id.as_wfm(), id.as_wfm_client(), id.as_site_client()) {
            (Some(wfm), None, None) => format!("wfm {wfm}"),
            (None, Some((wfm, client)), None) => format!("client {client} of {wfm}"),
            (None, None, Some(site)) => format!("site {site}"),
            (None, None, None) => format!("other {}", id.path()),
            forms => panic!("{forms:?}"),
        };
        assert_eq!(format!("{} {form}", id.trust_domain()), expected);
        assert_eq!(id.to_string(), text);
    }

    #[track_caller]
    fn refuse(text: &str, expected: &str) {
        let error = text.parse::<SpiffeId>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
