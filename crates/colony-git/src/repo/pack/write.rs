//! The bytes of a pack.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::Repository;
use gix::objs::Kind;
use gix::odb::pack::data::entry::Header;
use gix::odb::pack::data::{Version, header};

use super::delta::delta;
use super::{DOING, Item};
use crate::error::{Error, doing};

/// A chain of this many deltas is not extended.
const CHAIN_LIMIT: u8 = 48;

/// Writes the objects; those with a base as a delta.
pub(crate) fn write(repo: &Repository, items: &[Item], out: &mut dyn Write) -> Result<(), Error> {
    let count = u32::try_from(items.len())
        .map_err(|_| Error::TooMany { what: "objects of a pack", limit: u32::MAX as usize })?;
    let mut out = Summed { out, hash: gix::hash::hasher(gix::hash::Kind::Sha1), at: 0 };
    out.write_all(&header::encode(Version::V2, count)).map_err(failed)?;
    let mut placed: Vec<(u64, u8)> = Vec::with_capacity(items.len());
    for item in items {
        let entry = entry(repo, items, *item, &placed, out.at)?;
        placed.push((out.at, entry.depth));
        entry.write(&mut out).map_err(failed)?;
    }
    let Summed { out, hash, .. } = out;
    let sum = hash.try_finalize().map_err(doing(DOING))?;
    out.write_all(sum.as_slice()).map_err(failed)
}

struct Entry {
    header: Header,
    data: Vec<u8>,
    /// The number of deltas to resolve when it is read.
    depth: u8,
}

fn entry(
    repo: &Repository,
    items: &[Item],
    item: Item,
    placed: &[(u64, u8)],
    at: u64,
) -> Result<Entry, Error> {
    let mut object = repo.find_object(item.id).map_err(doing(DOING))?;
    let (kind, data) = (object.kind, std::mem::take(&mut object.data));
    let header = match kind {
        Kind::Commit => Header::Commit,
        Kind::Tree => Header::Tree,
        Kind::Blob => Header::Blob,
        Kind::Tag => Header::Tag,
    };
    let near = item.like.and_then(|like| Some((like, placed.get(like)?)));
    let Some((like, (from, depth))) = near.filter(|(_, (_, depth))| *depth < CHAIN_LIMIT) else {
        return Ok(Entry { header, data, depth: 0 });
    };
    let other = repo.find_object(items[like].id).map_err(doing(DOING))?;
    match delta(&other.data, &data).filter(|_| other.kind == kind) {
        None => Ok(Entry { header, data, depth: 0 }),
        Some(data) => {
            let header = Header::OfsDelta { base_distance: at - from };
            Ok(Entry { header, data, depth: depth + 1 })
        }
    }
}

impl Entry {
    fn write(&self, out: &mut Summed<'_>) -> io::Result<()> {
        self.header.write_to(self.data.len() as u64, out)?;
        let mut packed = ZlibEncoder::new(out, Compression::default());
        packed.write_all(&self.data)?;
        packed.finish().map(|_| ())
    }
}

/// Counts and hashes the bytes written.
struct Summed<'a> {
    out: &'a mut dyn Write,
    hash: gix::hash::Hasher,
    at: u64,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn failed(source: io::Error) -> Error {
    Error::Io { doing: "write", path: "a pack".into(), source }
}
