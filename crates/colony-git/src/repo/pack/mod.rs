//! Merges the packs of a copy in the process, without network and without
//! `git`.
//!
//! Every fetch adds a pack. When there are many, the small ones are merged. A
//! pack that is large compared to all smaller ones stays, so the number of
//! packs, and how often an object is rewritten, grow with the logarithm of the
//! history. When no pack is large enough to stay, only reachable objects are
//! kept, which drops rewritten histories.
//!
//! At every moment each object is in a pack with its index: the merged pack is
//! complete and on disk before an old one is removed. The files a crash leaves
//! behind are harmless and removed at the next start.

mod delta;
mod order;
mod shelf;
mod write;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::odb::pack;
use gix::progress::Discard;
use gix::{ObjectId, Repository};

use crate::error::{Error, doing};
use crate::repo::durable::{folder_sync, io};

pub(crate) use order::Item;
use shelf::Pack;
pub(crate) use write::write;

const DOING: &str = "repack the clone";
/// Up to this many packs are not merged.
const PACKS: usize = 32;

/// Merges packs if there are many; true if it did. Objects that `tips` reach
/// stay.
pub(crate) fn pack_up(dir: &Path, repo: &Repository, tips: &[ObjectId]) -> Result<bool, Error> {
    let folder = dir.join("objects/pack");
    let packs = shelf::packs(&folder)?;
    if packs.len() <= PACKS {
        return Ok(false);
    }
    let stay = shelf::stay(&packs);
    let (kept, merged) = packs.split_at(stay);
    let items = match kept.is_empty() {
        true => order::reachable(repo, tips)?,
        false => order::contained(repo, &shelf::only_in(merged, kept)?)?,
    };
    let fresh = stage(&dir.join("packing"), repo, &items)?;
    let name = fresh.as_deref().map(|it| publish(it, &folder)).transpose()?;
    shelf::retire(&folder, merged, name.as_deref())?;
    clear(&dir.join("packing"))?;
    tracing::debug!(packs = packs.len(), kept = stay, objects = items.len(), "packed up");
    Ok(true)
}

/// A pack of `items` with its index, complete and on disk; `None` without
/// items.
fn stage(folder: &Path, repo: &Repository, items: &[Item]) -> Result<Option<PathBuf>, Error> {
    clear(folder)?;
    std::fs::create_dir_all(folder).map_err(io("create the folder", folder))?;
    let stream = folder.join("stream");
    let mut out = BufWriter::new(File::create(&stream).map_err(io("create", &stream))?);
    write(repo, items, &mut out)?;
    drop(out.into_inner().map_err(|it| io("write", &stream)(it.into_error()))?);
    let Some(index) = index(folder, &stream)? else { return Ok(None) };
    complete(&index, items)?;
    for path in [index.with_extension("pack"), index.clone()] {
        File::open(&path).and_then(|it| it.sync_all()).map_err(io("write", &path))?;
    }
    Ok(Some(index))
}

/// Reads a pack whole, resolves every delta in it, and writes its index.
fn index(folder: &Path, stream: &Path) -> Result<Option<PathBuf>, Error> {
    let mut input = BufReader::new(File::open(stream).map_err(io("read", stream))?);
    let written = pack::Bundle::write_to_directory(
        &mut input,
        Some(folder),
        &mut Discard,
        &AtomicBool::new(false),
        None::<gix::OdbHandle>,
        gix::hash::Kind::Sha1,
        pack::bundle::write::Options { thread_limit: Some(1), ..Default::default() },
    );
    Ok(written.map_err(doing(DOING))?.index_path)
}

/// No pack is removed before all of its objects are in the merged one.
fn complete(index: &Path, items: &[Item]) -> Result<(), Error> {
    let there = shelf::ids(index)?;
    let expected: BTreeSet<ObjectId> = items.iter().map(|it| it.id).collect();
    match expected.difference(&there).next() {
        None => Ok(()),
        Some(id) => Err(Error::Corrupt { what: format!("{id} did not reach the new pack") }),
    }
}

/// Moves a pack to the others, its index last: a pack without index is ignored.
fn publish(index: &Path, folder: &Path) -> Result<String, Error> {
    let name = index.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for extension in ["pack", "idx"] {
        let to = folder.join(format!("{name}.{extension}"));
        std::fs::rename(index.with_extension(extension), &to).map_err(io("replace", &to))?;
        folder_sync(folder)?;
    }
    Ok(name)
}

/// Removes the files that packing or a fetch left behind when the process died.
pub(crate) fn sweep(dir: &Path) -> Result<(), Error> {
    clear(&dir.join("packing"))?;
    shelf::sweep(&dir.join("objects/pack"))
}

fn clear(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(it) if it.kind() != std::io::ErrorKind::NotFound => Err(io("remove", folder)(it)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The number of packs and their bytes, for measurements.
pub(crate) fn footprint(dir: &Path) -> Result<(usize, u64), Error> {
    let packs: Vec<Pack> = shelf::packs(&dir.join("objects/pack"))?;
    Ok((packs.len(), packs.iter().map(|it| it.bytes).sum()))
}
