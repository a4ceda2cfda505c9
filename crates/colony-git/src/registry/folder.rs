//! A registry that is a plain folder. Links are not followed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use colony_core::margo::Digest;

use super::{FILE, PackageScan, Packages, join};
use crate::error::Error;
use crate::repo::durable::io;
use crate::repo::{BLOB_LIMIT, DEPTH_LIMIT};

pub(super) fn read(root: &Path) -> Result<Packages, Error> {
    let mut found = PackageScan::default();
    walk(&mut found, root, "", 0)?;
    let mut packages = found.packages;
    packages.revision = digest(&packages).to_string();
    Ok(packages)
}

fn walk(found: &mut PackageScan, dir: &Path, folder: &str, depth: usize) -> Result<(), Error> {
    let listed = std::fs::read_dir(dir).map_err(io("list the folder", dir))?;
    let mut entries: Vec<_> = Vec::new();
    for entry in listed {
        found.count()?;
        entries.push(entry.map_err(io("list the folder", dir))?);
    }
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(io("look at", &entry.path()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == FILE {
            let text = if kind.is_file() { text_of(&entry.path())? } else { None };
            found.file(folder, text)?;
        } else if kind.is_dir() && name != ".git" && depth < DEPTH_LIMIT {
            walk(found, &entry.path(), &join(folder, &name), depth + 1)?;
        }
    }
    Ok(())
}

/// One byte over the limit is enough to know that it is too large.
fn text_of(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(io("open", path))?;
    file.take(BLOB_LIMIT + 1).read_to_end(&mut text).map_err(io("read", path))?;
    Ok(Some(text))
}

fn digest(packages: &Packages) -> Digest {
    let mut all = Vec::new();
    for package in &packages.packages {
        all.extend(format!("{}\0", package.path).into_bytes());
        all.extend(Digest::of(&package.text).as_bytes());
    }
    Digest::of(&all)
}
