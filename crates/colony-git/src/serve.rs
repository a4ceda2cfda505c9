//! Smart HTTP of the hosted repository, without any HTTP.
//!
//! The caller decides about read and write access. The requests that sites send
//! after every commit are answered in the process (`protocol_v2`), and equal
//! requests only once (`kept`). All others are answered by git itself, as a
//! child that lives until its answer is read or dropped.

#[cfg(feature = "fuzz")]
pub(crate) mod door;
mod gzip;
mod incoming;
mod kept;
mod line;
mod protocol_v2;
mod reply;
mod small;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use bytes::Bytes;
use tokio::process::Command;

pub use gzip::gunzip;
pub use reply::Reply;

use crate::error::Error;
use crate::git;
use crate::repo::durable::{LockHolder, stale_lock_remove};
use crate::writer::hosted::BRANCH;
use kept::KeptAnswers;

/// The longest request body that is accepted, after unpacking.
pub const BODY_LIMIT: usize = 64 * 1024 * 1024;

const DOING: &str = "serve the repository";

/// The service a Git client requests: to read, or to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
}

impl Service {
    /// By the name in `?service=…` or in the last segment of the path.
    pub fn named(name: &str) -> Option<Service> {
        match name {
            "git-upload-pack" => Some(Service::UploadPack),
            "git-receive-pack" => Some(Service::ReceivePack),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Service::UploadPack => "git-upload-pack",
            Service::ReceivePack => "git-receive-pack",
        }
    }

    /// The `Content-Type` of the answer to `GET /info/refs`.
    pub fn advertisement_type(self) -> &'static str {
        match self {
            Service::UploadPack => "application/x-git-upload-pack-advertisement",
            Service::ReceivePack => "application/x-git-receive-pack-advertisement",
        }
    }

    /// The `Content-Type` of the answer to a `POST`.
    pub fn result_type(self) -> &'static str {
        match self {
            Service::UploadPack => "application/x-git-upload-pack-result",
            Service::ReceivePack => "application/x-git-receive-pack-result",
        }
    }

    fn subcommand(self) -> &'static str {
        match self {
            Service::UploadPack => "upload-pack",
            Service::ReceivePack => "receive-pack",
        }
    }
}

/// One hosted repository, as clients of Git see it; cheap to clone.
#[derive(Debug, Clone)]
pub struct Server {
    dir: PathBuf,
    kept: Arc<KeptAnswers>,
}

impl Server {
    pub fn new(dir: &Path) -> Server {
        Server { dir: dir.to_owned(), kept: Arc::new(KeptAnswers::new(dir)) }
    }

    /// The body of the answer to `GET /info/refs?service=…`; `protocol` is the
    /// header `Git-Protocol`.
    pub async fn advertise(
        &self,
        service: Service,
        protocol: Option<&str>,
    ) -> Result<Vec<u8>, Error> {
        let protocol = protocol.and_then(clean);
        if service == Service::UploadPack && is_protocol_v2(protocol) {
            return Ok(capabilities());
        }
        let mut command = command(&self.dir, service, protocol);
        command.arg("--advertise-refs").arg(&self.dir);
        let output = command.output().await.map_err(|it| git::spawn_error(it, DOING))?;
        if !output.status.success() {
            return Err(Error::Git { doing: DOING, problem: git::output_text(&output.stderr) });
        }
        let mut body = preamble(service, protocol);
        body.extend(output.stdout);
        Ok(body)
    }

    /// The answer to `POST /git-…-pack`, streamed while git produces it.
    /// Dropping it ends git.
    ///
    /// A push is complete and durable when its answer has been read to the end.
    pub async fn exchange(
        &self,
        service: Service,
        protocol: Option<&str>,
        body: Bytes,
    ) -> Result<Reply, Error> {
        if body.len() > BODY_LIMIT {
            let (found, limit) = (body.len() as u64, BODY_LIMIT as u64);
            return Err(Error::TooLarge { what: "the request".to_owned(), found, limit });
        }
        let protocol = protocol.and_then(clean);
        if service == Service::UploadPack
            && is_protocol_v2(protocol)
            && let Some(made) = self.kept.answer(&body).await
        {
            return Ok(Reply::made(made));
        }
        if service == Service::ReceivePack
            && let Some(refusal) = refused(body.clone()).await?
        {
            return Ok(Reply::made(refusal.into()));
        }
        let holder = match service {
            Service::ReceivePack => Some(free_branch(&self.dir).await?),
            Service::UploadPack => None,
        };
        let mut command = command(&self.dir, service, protocol);
        command.arg(&self.dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|it| git::spawn_error(it, DOING))?;
        Reply::new(child, body, holder)
            .ok_or_else(|| Error::Git { doing: DOING, problem: NO_PIPES.to_owned() })
    }
}

/// Removes the stale lock of the branch: a push whose git was killed leaves it
/// behind, and the next push would fail on it. While the returned holder
/// exists, the lock may belong to this process.
async fn free_branch(dir: &Path) -> Result<LockHolder, Error> {
    let at = dir.to_owned();
    let removed = tokio::task::spawn_blocking(move || stale_lock_remove(&at, BRANCH)).await;
    removed.map_err(|it| Error::Git { doing: DOING, problem: it.to_string() })??;
    Ok(LockHolder::new(dir))
}

/// The answer to a push that is refused before git sees it, because of the size
/// of its unpacked objects.
async fn refused(body: Bytes) -> Result<Option<Vec<u8>>, Error> {
    let look = move || {
        let problem = incoming::problem(&body)?;
        tracing::info!("refused a push: {problem}");
        Some(incoming::refusal(&body, &problem))
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.map_err(|it| Error::Git { doing: DOING, problem: it.to_string() })
}

const NO_PIPES: &str = "it has no pipes";

/// Only the configuration of the hosted repository applies, and the folder may
/// belong to any user.
fn command(dir: &Path, service: Service, protocol: Option<&str>) -> Command {
    let mut command = git::command(dir, &[("safe.directory", "*")]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    if let Some(protocol) = protocol {
        command.env("GIT_PROTOCOL", protocol);
    }
    command.args([service.subcommand(), "--stateless-rpc"]);
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}

/// The header is passed to git in its environment, so only characters of a
/// protocol version are allowed.
pub(crate) fn clean(protocol: &str) -> Option<&str> {
    let known = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'=' | b':' | b'-' | b'.');
    (protocol.len() <= 64 && protocol.bytes().all(known)).then_some(protocol)
}

fn is_protocol_v2(protocol: Option<&str>) -> bool {
    protocol.is_some_and(|it| it.split(':').any(|it| it == "version=2"))
}

/// The capabilities of protocol 2 do not depend on the repository, so no
/// process is started for them: sites request them after every commit. Every
/// git that knows the protocol supports all of these.
pub(crate) fn capabilities() -> Vec<u8> {
    let agent = concat!("agent=git/colony-", env!("CARGO_PKG_VERSION"));
    let lines = ["version 2", agent, "ls-refs", "fetch=shallow"];
    let mut body: String = lines.map(|it| format!("{:04x}{it}\n", it.len() + 5)).concat();
    body.push_str("0000");
    body.into_bytes()
}

/// Protocol 2 has no first line that names the service.
pub(crate) fn preamble(service: Service, protocol: Option<&str>) -> Vec<u8> {
    if is_protocol_v2(protocol) {
        return Vec::new();
    }
    let line = format!("# service={}\n", service.name());
    format!("{:04x}{line}0000", line.len() + 4).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_protocol_reaches_the_environment() {
        assert_eq!(clean("version=2"), Some("version=2"));
        assert_eq!(clean("version=1:x-y"), Some("version=1:x-y"));
        assert_eq!(clean("version=2\nX=1"), None);
        assert_eq!(clean(&"v".repeat(65)), None);
    }

    #[test]
    fn the_first_line_names_the_service() {
        let line = preamble(Service::UploadPack, None);
        assert_eq!(String::from_utf8_lossy(&line), "001e# service=git-upload-pack\n0000");
        assert!(preamble(Service::UploadPack, Some("version=2")).is_empty());
    }
}
