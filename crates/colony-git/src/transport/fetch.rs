//! Fetching with gix: over a path, ssh, or HTTP with a token or a certificate.

mod process;

use std::process::Command;
use std::sync::Arc;

use gix::bstr::ByteSlice;
use gix::progress::Discard;
use gix::protocol::transport::client::blocking_io::http::Transport;
use gix::remote::fetch::Tags;
use gix::remote::fetch::refmap::Source;
use gix::remote::{Connection, Direction};
use gix::{ObjectId, Repository};
use parking_lot::Mutex;
use reqwest::blocking::Client;

use crate::error::{Error, doing};
use crate::repo::OBJECT_LIMIT;
use crate::repo::durable::io;
use crate::transport::advice::advised;
use crate::transport::http;
use crate::transport::limit::{FetchLimits, Meter};
use crate::transport::remote::{Address, Kind};
use crate::{Remote, git, repo};

const DOING: &str = "fetch from the repository";

/// Connections that outlive a fetch, to one remote.
#[derive(Debug, Default)]
pub(crate) struct Lines(Mutex<Option<Client>>);

impl Lines {
    /// The next fetch opens another connection.
    pub(crate) fn close(&self) {
        self.0.lock().take();
    }

    /// A client, and whether it was used before.
    fn client(&self, remote: &Remote, address: &Address) -> Result<(Client, bool), Error> {
        let mut held = self.0.lock();
        if let Some(client) = &*held {
            return Ok((client.clone(), true));
        }
        let client = http::client(remote, address)?;
        *held = Some(client.clone());
        Ok((client, false))
    }
}

/// Moves `tracking` to the commit of `source` at the remote; `None` if the
/// remote has no such reference.
pub(crate) fn fetch(
    repo: &Repository,
    (remote, lines): (&Remote, &Lines),
    (source, tracking): (&str, &str),
    limits: FetchLimits,
) -> Result<Option<ObjectId>, Error> {
    let address = remote.address()?;
    let wanted = FetchRef { repo, source, tracking, meter: Meter::new(limits) };
    let fetched = match &address.kind {
        Kind::Http => over_http(&wanted, remote, lines, &address),
        Kind::Path(path) => over_process(&wanted, process::local(path), &address),
        Kind::Ssh => over_ssh(&wanted, &address),
    };
    // An exceeded limit ends the fetch with another error; the limit is the
    // cause.
    let head = fetched.map_err(|it| wanted.meter.exceeded(DOING).unwrap_or(it))?;
    match head {
        Some(_) => repo::head(repo, tracking),
        None => forget(repo, tracking).map(|()| None),
    }
}

fn over_process(
    wanted: &FetchRef<'_>,
    command: Command,
    address: &Address,
) -> Result<Option<ObjectId>, Error> {
    let started = process::start(command, &address.url, &wanted.meter);
    let (line, _running) = started.map_err(|it| git::spawn_error(it, DOING))?;
    let remote = wanted.remote(address).map_err(|it| failed(address, &it))?;
    let received = wanted.receive(remote.to_connection_with_transport(line));
    received.map_err(|it| failed(address, &it))
}

/// A kept connection may have ended since its last use: then the fetch is tried
/// once more on another one.
fn over_http(
    wanted: &FetchRef<'_>,
    remote: &Remote,
    lines: &Lines,
    address: &Address,
) -> Result<Option<ObjectId>, Error> {
    loop {
        let (client, used) = lines.client(remote, address)?;
        let meter = Arc::clone(&wanted.meter);
        let line = http::Line::new(client, address.authorization.clone(), meter);
        let failure = line.failure();
        let error = match wanted.receive_over(line, address) {
            Ok(head) => return Ok(head),
            Err(error) => error,
        };
        lines.close();
        let error =
            failure.take().map_or_else(|| failed(address, &error), |it| remote_error(address, it));
        if !used || !error.is_transient() || wanted.meter.exceeded(DOING).is_some() {
            return Err(error);
        }
    }
}

/// Every ssh appends to the log file, so each fetch begins with an empty one.
fn over_ssh(wanted: &FetchRef<'_>, address: &Address) -> Result<Option<ObjectId>, Error> {
    let log = repo::ssh_log(wanted.repo.git_dir());
    std::fs::write(&log, "").map_err(io("empty", &log))?;
    over_process(wanted, process::ssh(&address.url, &log)?, address).map_err(|error| {
        let said = last_said(&std::fs::read(&log).unwrap_or_default());
        if said.is_empty() { error } else { remote_error(address, advised(said)) }
    })
}

/// The warning of ssh about a changed host key fills a screen; its last lines
/// name the reason.
fn last_said(log: &[u8]) -> String {
    const LINES: usize = 2;
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

fn remote_error(address: &Address, (problem, refused): (String, bool)) -> Error {
    let problem = address.redact(&problem);
    match refused {
        true => Error::Refused { doing: DOING, problem },
        false => Error::Remote { doing: DOING, problem },
    }
}

/// The reference to fetch, and its local name.
struct FetchRef<'a> {
    repo: &'a Repository,
    source: &'a str,
    tracking: &'a str,
    meter: Arc<Meter>,
}

impl FetchRef<'_> {
    fn remote(&self, address: &Address) -> gix::Result<gix::Remote<'_>> {
        let spec = format!("+{}:{}", self.source, self.tracking);
        let remote = self.repo.remote_at(address.url.as_str())?.with_fetch_tags(Tags::None);
        remote.with_refspecs([spec.as_bytes().as_bstr()], Direction::Fetch)
    }

    fn receive_over(&self, line: http::Line, address: &Address) -> gix::Result<Option<ObjectId>> {
        let remote = self.remote(address)?;
        let (url, version) = remote.sanitized_url_and_version(Direction::Fetch)?;
        let transport = Transport::new_http(line, url, version, false);
        self.receive(remote.to_connection_with_transport(transport))
    }

    fn receive<T: gix::protocol::transport::client::blocking_io::Transport>(
        &self,
        mut connection: Connection<'_, '_, '_, T>,
    ) -> gix::Result<Option<ObjectId>> {
        // Without this, gix asks credential helpers and the terminal.
        connection.set_credentials(|_| Ok(None));
        let options = gix::remote::ref_map::Options::default();
        let prepared = connection.prepare_fetch(Discard, options)?;
        let mapped = prepared.ref_map().mappings.iter().find_map(|it| id_of(&it.remote));
        let Some(head) = mapped else { return Ok(None) };
        let known = self.repo.try_find_reference(self.tracking)?;
        if known.and_then(|it| it.try_id().map(gix::Id::detach)) != Some(head) {
            let _watchdog = self.meter.watch(|| ());
            prepared.receive(Discard, self.meter.stop())?;
        }
        Ok(Some(head))
    }
}

fn id_of(source: &Source) -> Option<ObjectId> {
    source.as_id().map(ToOwned::to_owned)
}

/// Deletes the local reference of a branch that the remote no longer has.
fn forget(repo: &Repository, tracking: &str) -> Result<(), Error> {
    let found = repo.try_find_reference(tracking).map_err(doing("read the branch"))?;
    match found {
        Some(reference) => reference.delete().map_err(doing("delete the tracking branch")),
        None => Ok(()),
    }
}

fn failed(address: &Address, error: &gix::Error) -> Error {
    let problem = address.redact(&error_text(error));
    if error.is_resource_exhausted() {
        let problem = format!("it has an object of more than {OBJECT_LIMIT} bytes: {problem}");
        return Error::Limit { doing: DOING, problem };
    }
    if refused(error) {
        return Error::Refused { doing: DOING, problem };
    }
    Error::Remote { doing: DOING, problem }
}

/// Judged by kind, never by text: the text contains the address, and `401` may
/// be its port.
fn refused(error: &gix::Error) -> bool {
    error.is_unauthenticated() || error.is_permission_denied()
}

fn error_text(error: &gix::Error) -> String {
    let mut all: Vec<String> = error.iter_errors().map(ToString::to_string).collect();
    all.dedup();
    all.join(": ").chars().take(2000).collect()
}
