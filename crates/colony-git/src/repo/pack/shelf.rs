//! The packs on disk: their list, which ones are merged, and their removal.

use std::collections::BTreeSet;
use std::path::Path;

use gix::ObjectId;
use gix::odb::pack;

use super::DOING;
use crate::error::{Error, doing};
use crate::repo::durable::{folder_sync, io};

/// A pack that has an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pack {
    /// Without extension.
    pub(super) name: String,
    pub(super) index: std::path::PathBuf,
    pub(super) bytes: u64,
}

/// The packs in a folder, the largest first.
pub(super) fn packs(folder: &Path) -> Result<Vec<Pack>, Error> {
    let mut all = Vec::new();
    for name in names(folder)? {
        let Some(stem) = name.strip_suffix(".idx") else { continue };
        let index = folder.join(&name);
        if let Ok(data) = std::fs::metadata(index.with_extension("pack")) {
            all.push(Pack { name: stem.to_owned(), index, bytes: data.len() });
        }
    }
    all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    Ok(all)
}

/// How many of the largest packs stay: each that has at least twice the bytes
/// of all smaller ones together.
pub(super) fn stay(packs: &[Pack]) -> usize {
    let mut rest: u64 = packs.iter().map(|it| it.bytes).sum();
    let large = |it: &&Pack| {
        rest = rest.saturating_sub(it.bytes);
        it.bytes >= rest.saturating_mul(2)
    };
    // At least two are merged.
    packs.iter().take_while(large).count().min(packs.len().saturating_sub(2))
}

/// The objects of the merged packs that no kept pack has.
pub(super) fn only_in(merged: &[Pack], kept: &[Pack]) -> Result<BTreeSet<ObjectId>, Error> {
    let mut all = BTreeSet::new();
    for pack in merged {
        all.append(&mut ids(&pack.index)?);
    }
    for pack in kept {
        let index = open(&pack.index)?;
        all.retain(|it| index.lookup(it).is_none());
    }
    Ok(all)
}

pub(super) fn ids(index: &Path) -> Result<BTreeSet<ObjectId>, Error> {
    Ok(open(index)?.iter().map(|it| it.oid).collect())
}

fn open(index: &Path) -> Result<pack::index::File, Error> {
    pack::index::File::at(index, gix::hash::Kind::Sha1).map_err(doing(DOING))
}

/// Removes the packs that were merged into `fresh`.
///
/// Indices are removed first and the folder is synced: an index without its
/// pack would be an error to every reader.
pub(super) fn retire(folder: &Path, merged: &[Pack], fresh: Option<&str>) -> Result<(), Error> {
    for pack in merged.iter().filter(|it| Some(it.name.as_str()) != fresh) {
        std::fs::remove_file(&pack.index).map_err(io("remove", &pack.index))?;
    }
    folder_sync(folder)?;
    sweep(folder)
}

/// Removes every file that does not belong to a pack with an index.
pub(super) fn sweep(folder: &Path) -> Result<(), Error> {
    let alive: BTreeSet<String> = packs(folder)?.into_iter().map(|it| it.name).collect();
    for name in names(folder)?.iter().filter(|it| !belongs(it, &alive)) {
        let path = folder.join(name);
        std::fs::remove_file(&path).map_err(io("remove", &path))?;
    }
    Ok(())
}

fn belongs(file: &str, alive: &BTreeSet<String>) -> bool {
    file.split_once('.').is_some_and(|(name, kind)| kind != "keep" && alive.contains(name))
}

fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = std::fs::read_dir(folder).map_err(io("list", folder))?;
    let name = |it: std::io::Result<std::fs::DirEntry>| Ok(it?.file_name().into_string().ok());
    let all: std::io::Result<Vec<_>> = entries.map(name).collect();
    Ok(all.map_err(io("list", folder))?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_stay_while_they_are_large_against_what_follows() {
        check(&[100, 10, 9, 1], 1);
        check(&[110, 40, 10, 1, 1], 3);
        check(&[10, 10, 10], 0);
        check(&[100, 60, 1], 0);
        check(&[100, 1], 0);
        check(&[100, 10, 1, 0], 2);
        check(&[], 0);
    }

    #[track_caller]
    fn check(sizes: &[u64], expected: usize) {
        let pack = |&bytes: &u64| Pack { name: String::new(), index: "x".into(), bytes };
        let packs: Vec<Pack> = sizes.iter().map(pack).collect();
        assert_eq!(stay(&packs), expected, "{sizes:?}");
    }
}
