//! Bundles: all deployments of a manifest in one gzip tar.
//!
//! The same deployments give the same bytes, because a bundle is addressed by
//! its digest: names are sorted, and times, owners and modes are fixed. File
//! names in a foreign bundle have no meaning; files are identified by digest.

use std::io::{Read, Write};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{Archive, Builder, EntryType, Header};

use crate::value::name::DeploymentId;

/// The limits for reading a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes as sent.
    pub compressed: usize,
    /// Bytes of all files together.
    pub uncompressed: usize,
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { compressed: 64 << 20, uncompressed: 256 << 20, entries: 10_000 }
    }
}

/// Why a bundle was refused.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("bundle has {found} bytes; at most {limit} are read")]
    TooLarge { found: usize, limit: usize },
    #[error("bundle unpacks to more than {limit} bytes")]
    UnpacksTooLarge { limit: usize },
    #[error("bundle has more than {limit} files")]
    TooManyEntries { limit: usize },
    #[error("bundle entry `{name}` is not a plain file")]
    NotAFile { name: String },
    #[error("bundle entry `{name}` is not a file name at the root")]
    BadName { name: String },
    #[error("bundle has the file `{name}` twice")]
    Duplicate { name: String },
    #[error("could not read the bundle")]
    Archive(#[source] std::io::Error),
}

/// Packs deployments into a bundle, `<id>.yaml` each.
pub fn pack<'a>(deployments: impl IntoIterator<Item = (&'a DeploymentId, &'a [u8])>) -> Vec<u8> {
    let mut files: Vec<(&DeploymentId, &[u8])> = deployments.into_iter().collect();
    files.sort();
    let mut tar = Builder::new(Vec::new());
    for (id, bytes) in files {
        // Writing to memory cannot fail, and an id is a valid name.
        let appended = tar.append_data(&mut header(bytes.len()), format!("{id}.yaml"), bytes);
        debug_assert!(appended.is_ok(), "{appended:?}");
    }
    compress(&tar.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn header(size: usize) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// The header contains no time and an unknown system.
fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let builder = GzBuilder::new().mtime(0).operating_system(255);
    let mut encoder = builder.write(Vec::new(), Compression::new(6));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Unpacks a bundle into names and contents, by name. Links, folders and names
/// outside the root are refused.
pub fn unpack(bytes: &[u8], limits: &Limits) -> Result<Vec<(String, Vec<u8>)>, BundleError> {
    if bytes.len() > limits.compressed {
        return Err(BundleError::TooLarge { found: bytes.len(), limit: limits.compressed });
    }
    // The archive itself has headers and padding for each entry.
    let overhead = (limits.entries as u64).saturating_add(2).saturating_mul(2048);
    let ceiling = (limits.uncompressed as u64).saturating_add(overhead);
    let mut archive = Archive::new(GzDecoder::new(bytes).take(ceiling));
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut budget = limits.uncompressed;
    for entry in archive.entries().map_err(BundleError::Archive)? {
        let entry = entry.map_err(BundleError::Archive)?;
        if files.len() == limits.entries {
            return Err(BundleError::TooManyEntries { limit: limits.entries });
        }
        let file = unpack_entry(entry, budget, limits)?;
        budget -= file.1.len();
        files.push(file);
    }
    sorted(files)
}

fn unpack_entry(
    mut entry: tar::Entry<'_, impl Read>,
    budget: usize,
    limits: &Limits,
) -> Result<(String, Vec<u8>), BundleError> {
    let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    if entry.header().entry_type() != EntryType::Regular {
        return Err(BundleError::NotAFile { name });
    }
    let name = root_name(name)?;
    let mut bytes = Vec::new();
    let mut limited = entry.by_ref().take(budget as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(BundleError::Archive)?;
    if bytes.len() > budget {
        return Err(BundleError::UnpacksTooLarge { limit: limits.uncompressed });
    }
    Ok((name, bytes))
}

/// Common tools write a leading `./`.
fn root_name(name: String) -> Result<String, BundleError> {
    let bare = name.strip_prefix("./").unwrap_or(&name);
    let plain = |c: char| !c.is_control() && c != '/' && c != '\\' && c != '\u{fffd}';
    if matches!(bare, "" | "." | "..") || bare.len() > 255 || !bare.chars().all(plain) {
        return Err(BundleError::BadName { name });
    }
    Ok(bare.to_owned())
}

fn sorted(mut files: Vec<(String, Vec<u8>)>) -> Result<Vec<(String, Vec<u8>)>, BundleError> {
    files.sort();
    match files.windows(2).find(|it| it[0].0 == it[1].0) {
        Some(pair) => Err(BundleError::Duplicate { name: pair[0].0.clone() }),
        None => Ok(files),
    }
}
