//! Fetching with gix: over a path, ssh, or HTTP with a token or a certificate.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gix::bstr::ByteSlice;
use gix::progress::Discard;
use gix::protocol::transport::client::blocking_io::http;
use gix::remote::Direction;
use gix::remote::fetch::Tags;
use gix::remote::fetch::refmap::Source;
use gix::{ObjectId, Repository};

use crate::error::{Error, doing};
use crate::remote::{Address, Kind};
use crate::{Auth, Remote, repo};

const DOING: &str = "fetch from the repository";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Brings `tracking` to where `source` stands at the remote; `None` if it has no such reference.
pub(crate) fn fetch(
    repo: &Repository,
    remote: &Remote,
    source: &str,
    tracking: &str,
) -> Result<Option<ObjectId>, Error> {
    let address = remote.address()?;
    let head =
        receive(repo, remote, &address, source, tracking).map_err(|it| failed(&address, &it))?;
    match head {
        Some(_) => repo::head(repo, tracking),
        None => forget(repo, tracking).map(|()| None),
    }
}

fn receive(
    repo: &Repository,
    remote: &Remote,
    address: &Address,
    source: &str,
    tracking: &str,
) -> gix::Result<Option<ObjectId>> {
    let spec = format!("+{source}:{tracking}");
    let remote_at = repo
        .remote_at(address.url.as_str())?
        .with_fetch_tags(Tags::None)
        .with_refspecs([spec.as_bytes().as_bstr()], Direction::Fetch)?;
    let mut connection = remote_at.connect(Direction::Fetch)?;
    // Without this, gix asks credential helpers and the terminal.
    connection.set_credentials(|_| Ok(None));
    if address.kind == Kind::Http {
        connection.set_transport_options(Box::new(options(remote, address)));
    }
    let prepared = connection.prepare_fetch(Discard, gix::remote::ref_map::Options::default())?;
    let mapped = prepared.ref_map().mappings.iter().find_map(|it| id_of(&it.remote));
    let Some(head) = mapped else { return Ok(None) };
    let known = repo.try_find_reference(tracking)?.and_then(|it| it.try_id().map(gix::Id::detach));
    if known != Some(head) {
        prepared.receive(Discard, &AtomicBool::new(false))?;
    }
    Ok(Some(head))
}

fn id_of(source: &Source) -> Option<ObjectId> {
    source.as_id().map(ToOwned::to_owned)
}

fn options(remote: &Remote, address: &Address) -> http::Options {
    provide_crypto();
    let tls = match &remote.auth {
        Auth::Mtls { tls } => Some(Arc::clone(tls)),
        Auth::None | Auth::Token(_) | Auth::Ssh => None,
    };
    let configure = move |client: reqwest::blocking::ClientBuilder| {
        let client = client.timeout(TIMEOUT);
        Ok(match &tls {
            Some(tls) => client.tls_backend_preconfigured(rustls::ClientConfig::clone(tls)),
            None => client,
        })
    };
    let backend = http::reqwest::Options {
        configure_client: Some(Box::new(configure)),
        configure_request: None,
    };
    let authorization = address.authorization.iter().map(|it| format!("Authorization: {it}"));
    http::Options {
        extra_headers: authorization.collect(),
        user_agent: Some(concat!("git/colony-", env!("CARGO_PKG_VERSION")).to_owned()),
        backend: Some(Arc::new(Mutex::new(backend))),
        ..http::Options::default()
    }
}

/// reqwest is built without a provider of its own and panics where there is none.
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may have been quicker.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// The remote has no such reference any more.
fn forget(repo: &Repository, tracking: &str) -> Result<(), Error> {
    let found = repo.try_find_reference(tracking).map_err(doing("read the branch"))?;
    match found {
        Some(reference) => reference.delete().map_err(doing("forget the branch")),
        None => Ok(()),
    }
}

fn failed(address: &Address, error: &gix::Error) -> Error {
    let problem = address.redact(&error_text(error));
    if refused(error) {
        return Error::Refused { doing: DOING, problem };
    }
    Error::Remote { doing: DOING, problem }
}

/// By kind, never by text: the text carries the address, and `401` may be in its port.
fn refused(error: &gix::Error) -> bool {
    error.is_unauthenticated() || error.is_permission_denied()
}

fn error_text(error: &gix::Error) -> String {
    let all: Vec<String> = error.iter_errors().map(ToString::to_string).collect();
    all.join(": ").chars().take(2000).collect()
}
