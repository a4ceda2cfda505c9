//! Objects and references on disk, durable before a write is acknowledged.
//!
//! gix and git write objects and references without waiting for the disk by
//! default. An acknowledged write must survive a power cut, so both are written
//! here: content, fsync, rename, fsync of the folder. A reference is written
//! under the same lock file that git takes, so a concurrent push waits or
//! fails.

mod lock;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::objs::Kind;

use crate::Error;
use lock::Lock;
pub(crate) use lock::{LockHolder, stale_lock_remove};

/// Enough to keep a disk's queue filled.
const THREADS: usize = 8;

/// Replaces a file.
pub(crate) fn file_write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    colony_process::file::replace(path, bytes, 0o644).map_err(io("replace", path))
}

/// Writes objects; all of them are on disk when this returns.
pub(crate) fn objects_write<'a>(
    objects: &Path,
    all: impl Iterator<Item = (&'a ObjectId, &'a (Kind, Vec<u8>))>,
) -> Result<(), Error> {
    let all: Vec<_> = all.collect();
    in_threads(&all, |(id, (kind, data))| object_write(objects, id, *kind, data))?;
    let folders: BTreeSet<PathBuf> = all.iter().map(|(id, _)| folder_of(objects, id)).collect();
    let folders: Vec<PathBuf> = folders.into_iter().chain([objects.to_owned()]).collect();
    in_threads(&folders, |it| folder_sync(it))
}

fn object_write(objects: &Path, id: &ObjectId, kind: Kind, data: &[u8]) -> Result<(), Error> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // `git gc` knows files of this name as left-overs.
    let temporary = objects.join(format!("tmp_obj_colony_{}_{count}", std::process::id()));
    let folder = folder_of(objects, id);
    std::fs::create_dir_all(&folder).map_err(io("create the folder", &folder))?;
    let written = loose_write(&temporary, kind, data).and_then(|()| {
        let name = id.to_hex().to_string();
        std::fs::rename(&temporary, folder.join(&name[2..]))
    });
    written.map_err(|source| {
        // A left-over is only clutter.
        let _ = std::fs::remove_file(&temporary);
        Error::Io { doing: "write the object", path: temporary, source }
    })
}

fn loose_write(path: &Path, kind: Kind, data: &[u8]) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o444).open(path)?;
    let mut packed = ZlibEncoder::new(file, Compression::fast());
    write!(packed, "{kind} {}\0", data.len())?;
    packed.write_all(data)?;
    packed.finish()?.sync_all()
}

fn folder_of(objects: &Path, id: &ObjectId) -> PathBuf {
    objects.join(&id.to_hex().to_string()[..2])
}

/// Points `name` to `new` if it points to `expected`; `false` if it does not.
pub(crate) fn ref_update(
    git_dir: &Path,
    name: &str,
    expected: Option<ObjectId>,
    new: ObjectId,
    current: impl Fn() -> Result<Option<ObjectId>, Error>,
) -> Result<bool, Error> {
    let path = git_dir.join(name);
    let lock = Lock::take(&path)?;
    colony_process::fail::hit(colony_process::fail::Point::CentralBranchLocked);
    if current()? != expected {
        return Ok(false);
    }
    lock.commit(&format!("{new}\n"), &path)?;
    colony_process::fail::hit(colony_process::fail::Point::CentralBranchMoved);
    Ok(true)
}

pub(crate) fn folder_sync(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|it| it.sync_all()).map_err(io("flush the folder", path))
}

pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { doing, path: path.clone(), source }
}

/// A disk flushes many files in little more time than one.
fn in_threads<T: Sync>(
    all: &[T],
    work: impl Fn(&T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let share = all.len().div_ceil(THREADS).max(1);
    let one = |it: &[T]| it.iter().try_for_each(&work);
    let one = &one;
    std::thread::scope(|scope| {
        let running: Vec<_> = all.chunks(share).map(|it| scope.spawn(move || one(it))).collect();
        running.into_iter().try_for_each(|it| match it.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
