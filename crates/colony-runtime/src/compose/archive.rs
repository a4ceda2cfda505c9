//! The archive of a compose component, in memory.
//!
//! Nothing is ever written to a disk, so owners, times and modes (with setuid,
//! setgid and sticky bits) are dropped. `unpack` reads the bytes and decides
//! what is refused.

use std::collections::BTreeMap;

use colony_core::margo::yaml::Cursor;
use colony_core::margo::{Finding, Parsed, Severity};

use super::{Project, file, unpack};
use crate::config::{DocumentPolicy, EngineKind};

/// The one name of the compose file.
pub(super) const COMPOSE: &str = "compose.yaml";

/// How many links are followed for one path.
const HOPS: usize = 16;

/// What an archive may cost to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes as sent.
    pub compressed: usize,
    /// Bytes of the unpacked archive, headers included.
    pub total: usize,
    /// Unpacked bytes for each byte sent; small archives are exempt.
    pub ratio: usize,
    /// Bytes of one file.
    pub file: usize,
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let (compressed, total) = (8 << 20, 16 << 20);
        Limits { compressed, total, ratio: 100, file: 1 << 20, entries: 1_000 }
    }
}

/// The files of an archive, by their path below its one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Links by path, and the path they lead to.
    pub(super) links: BTreeMap<String, String>,
}

impl Archive {
    /// Reads an archive, or returns every problem with it.
    pub fn unpack(bytes: &[u8]) -> Result<Archive, Vec<Finding>> {
        Archive::unpack_within(bytes, &Limits::default())
    }

    /// Reads an archive within other limits than the usual ones.
    pub fn unpack_within(bytes: &[u8], limits: &Limits) -> Result<Archive, Vec<Finding>> {
        unpack::unpack(bytes, limits)
    }

    /// Reads the compose file with these parameters, or returns every problem.
    pub fn project(&self, parameters: &BTreeMap<String, String>) -> Result<Project, Vec<Finding>> {
        self.parse(parameters).map(|it| it.value)
    }

    /// Like [`Archive::project`], with the warnings of a file that can be used.
    pub fn parse(
        &self,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Parsed<Project>, Vec<Finding>> {
        file::read(self, parameters, None)
    }

    /// Like [`Archive::project`], without what `engine` cannot do and what the
    /// node does not allow.
    pub fn project_on(
        &self,
        engine: EngineKind,
        policy: &DocumentPolicy,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Project, Vec<Finding>> {
        file::read(self, parameters, Some((engine, policy))).map(|it| it.value)
    }

    /// The files by path, such as `compose.yaml` and `conf/app.toml`.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The file that a relative path refers to, with its resolved path; or the
    /// problem with the path.
    pub(super) fn find(&self, reference: &str) -> Result<(String, &[u8]), Lost> {
        if reference.starts_with('/') {
            return Err(Lost::Absolute);
        }
        let mut path = walk("", reference).ok_or(Lost::Outside)?;
        for _ in 0..HOPS {
            let Some(next) = self.follow(&path) else { break };
            path = next;
        }
        let bytes = self.files.get(&path).ok_or(Lost::Missing)?;
        Ok((path, bytes))
    }

    /// The path after one link on it was followed.
    fn follow(&self, path: &str) -> Option<String> {
        let ends = path.match_indices('/').map(|it| it.0).chain([path.len()]);
        ends.into_iter().find_map(|end| {
            let target = self.links.get(&path[..end])?;
            walk(target, path[end..].trim_start_matches('/'))
        })
    }
}

/// Why a path refers to no file of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    Absolute,
    Outside,
    Missing,
}

impl Lost {
    /// Reports the problem at the position of the path.
    pub(super) fn report<T>(self, cursor: &Cursor<'_>, path: &str) -> Option<T> {
        let problem = match self {
            Lost::Absolute => "is an absolute path",
            Lost::Outside => "leads out of the archive",
            Lost::Missing => "is not in the archive",
        };
        cursor.error(format!("`{path}` {problem}"), "a relative path of a packaged file");
        None
    }
}

/// Resolves a relative path from a folder; `None` if it leaves the root.
pub(super) fn walk(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/').filter(|it| !matches!(*it, "" | ".")) {
        match part {
            ".." => _ = parts.pop()?,
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A finding about an archive or one of its files as such.
pub(super) fn flaw(
    file: Option<&str>,
    problem: impl Into<String>,
    expected: impl Into<String>,
) -> Finding {
    let file = file.map(|it| it.escape_debug().take(200).collect());
    let (problem, expected) = (problem.into(), expected.into());
    let path = String::new();
    Finding { file, line: 0, column: 0, path, severity: Severity::Error, problem, expected }
}
