//! A bare repository on disk, and reading trees and blobs out of it. Beside
//! it: durable writes, comparing trees, the origin of a file, and packs.

pub(crate) mod durable;
pub(crate) mod origin;
pub(crate) mod pack;
pub(crate) mod walk;

use std::path::Path;

use colony_core::id::{BlobId, GitRevision};
use gix::objs::tree::EntryMode;
use gix::odb::store::init::Slots;
use gix::open::{Options, permissions};
use gix::{ObjectId, Repository, ThreadSafeRepository};

use crate::error::{Error, doing};
use crate::repo::durable::{file_write, folder_sync, io};

/// The largest file colony reads or writes.
pub(crate) const BLOB_LIMIT: u64 = 1024 * 1024;
/// The largest object of any kind that is read into memory, also from a history
/// that colony did not write.
pub(crate) const OBJECT_LIMIT: u64 = 16 * 1024 * 1024;
/// The deepest folder that is read; trees of a remote may nest deeper.
pub(crate) const DEPTH_LIMIT: usize = 16;
/// How many packs may be added while a repository stays open.
pub(crate) const SPARE_PACKS: usize = 32;
const OBJECT_CACHE: usize = 4 * 1024 * 1024;

/// Creates the missing parts of a bare repository, and opens it.
pub(crate) fn ensure(dir: &Path, head: &str, config: &str) -> Result<ThreadSafeRepository, Error> {
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        let folder = dir.join(folder);
        std::fs::create_dir_all(&folder).map_err(io("create the folder", &folder))?;
    }
    file_write_if_different(&dir.join("config"), config)?;
    if !dir.join("HEAD").exists() {
        file_write(&dir.join("HEAD"), format!("ref: {head}\n").as_bytes())?;
        folder_sync(dir.parent().unwrap_or(dir))?;
    }
    open(dir)
}

fn file_write_if_different(path: &Path, text: &str) -> Result<(), Error> {
    match std::fs::read(path) {
        Ok(found) if found == text.as_bytes() => Ok(()),
        Ok(_) | Err(_) => file_write(path, text.as_bytes()),
    }
}

/// Opens a repository with room for its packs and `SPARE_PACKS` more.
pub(crate) fn open(dir: &Path) -> Result<ThreadSafeRepository, Error> {
    let config = permissions::Config { env: false, ..permissions::Config::all() };
    let mut env = permissions::Environment::all();
    env.git_prefix = gix::sec::Permission::Deny;
    env.http_transport = gix::sec::Permission::Deny;
    env.objects = gix::sec::Permission::Deny;
    let permissions = gix::open::Permissions { env, config, ..gix::open::Permissions::isolated() };
    Options::default()
        .permissions(permissions)
        .with(gix::sec::Trust::Full)
        .open_path_as_is(true)
        .object_store_slots(Slots::AsNeededByDiskState {
            multiplier: 2.0,
            minimum: 2 * SPARE_PACKS,
        })
        // Also while a pack is received: a larger object is not unpacked.
        .config_overrides([format!("gitoxide.objects.allocLimit={OBJECT_LIMIT}")])
        .open(dir)
        .map_err(doing("open the repository"))
}

/// The log file for error messages of ssh.
pub(crate) fn ssh_log(dir: &Path) -> std::path::PathBuf {
    dir.join("ssh.log")
}

/// A handle for this thread.
pub(crate) fn local(shared: &ThreadSafeRepository) -> Repository {
    let mut repo = shared.to_thread_local();
    repo.object_cache_size_if_unset(OBJECT_CACHE);
    repo
}

/// What a reference points to.
pub(crate) fn head(repo: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    let found = repo.try_find_reference(name).map_err(doing("read the branch"))?;
    Ok(found.and_then(|it| it.try_id().map(gix::Id::detach)))
}

pub(crate) fn tree_of(repo: &Repository, commit: ObjectId) -> Result<ObjectId, Error> {
    let commit = repo.find_commit(commit).map_err(doing("read a commit"))?;
    Ok(commit.tree_id().map_err(doing("read a commit"))?.detach())
}

/// An entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: ObjectId,
    pub(crate) mode: EntryMode,
}

/// The entry at `path`, and whether the walk reached the path or stopped at a
/// file above it.
pub(crate) fn entry_at(
    repo: &Repository,
    root: ObjectId,
    path: &str,
) -> Result<Option<(Entry, Reached)>, Error> {
    let mut tree = root;
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let object = repo.find_tree(tree).map_err(doing("read a folder"))?;
        let Some(found) = object.find_entry(segment) else { return Ok(None) };
        let entry = Entry { id: found.object_id(), mode: found.mode() };
        match (segments.peek().is_none(), entry.mode.is_tree()) {
            (true, _) => return Ok(Some((entry, Reached::Path))),
            (false, true) => tree = entry.id,
            (false, false) => return Ok(Some((entry, Reached::Parent))),
        }
    }
    Ok(None)
}

/// How far a walk came: to the path itself, or to a file where a folder was
/// expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Path,
    Parent,
}

/// The entries of a tree by name.
pub(crate) fn entries(repo: &Repository, tree: ObjectId) -> Result<Vec<(Vec<u8>, Entry)>, Error> {
    let tree = repo.find_tree(tree).map_err(doing("read a folder"))?;
    let decoded = tree.decode().map_err(doing("read a folder"))?;
    let entry = |it: &gix::objs::tree::EntryRef<'_>| {
        (it.filename.to_vec(), Entry { id: it.oid.to_owned(), mode: it.mode })
    };
    Ok(decoded.entries.iter().map(entry).collect())
}

/// The size of an object without its content; `None` if it does not exist.
pub(crate) fn size_of(repo: &Repository, id: ObjectId) -> Result<Option<u64>, Error> {
    let header = repo.try_find_header(id).map_err(doing("look up an object"))?;
    Ok(header.map(|it| it.size()))
}

/// A file's content, or its size if it is over the limit.
pub(crate) fn blob_read(repo: &Repository, id: ObjectId) -> Result<Result<Vec<u8>, u64>, Error> {
    let size = size_of(repo, id)?
        .ok_or_else(|| Error::Corrupt { what: format!("the file {id} is missing") })?;
    if size > BLOB_LIMIT {
        return Ok(Err(size));
    }
    let mut blob = repo.find_blob(id).map_err(doing("read a file"))?;
    Ok(Ok(blob.take_data()))
}

/// Whether `old` is `new` or one of its ancestors. Both must exist.
pub(crate) fn is_ancestor(repo: &Repository, old: ObjectId, new: ObjectId) -> Result<bool, Error> {
    if old == new {
        return Ok(true);
    }
    let bases = repo.merge_bases_many(old, &[new]).map_err(doing("compare two commits"))?;
    Ok(bases.iter().any(|it| it.detach() == old))
}

pub(crate) fn revision(id: ObjectId) -> Result<GitRevision, Error> {
    parse_id(id)
}

pub(crate) fn blob_id(id: ObjectId) -> Result<BlobId, Error> {
    parse_id(id)
}

fn parse_id<T: std::str::FromStr<Err: std::fmt::Display>>(id: ObjectId) -> Result<T, Error> {
    id.to_string().parse().map_err(|it: T::Err| Error::Corrupt { what: it.to_string() })
}

/// Parses an object id; `None` if the text is not one.
pub(crate) fn object_id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}
