//! Bundles: a gzip tar from a manager.

use std::io::Write;

use colony_core::margo::bundle::{self, Limits};
use colony_core::margo::{DeploymentId, Digest};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Outcome, hold};

const LIMITS: Limits = Limits { compressed: 1 << 20, uncompressed: 64 << 10, entries: 8 };

pub(super) fn bundle(input: &[u8]) -> Outcome {
    let packed = packed(input);
    let files = match bundle::unpack(&packed, &LIMITS) {
        Ok(files) => files,
        Err(error) => return Outcome::refused(error),
    };
    assert!(files.len() <= LIMITS.entries);
    assert!(files.iter().map(|it| it.1.len()).sum::<usize>() <= LIMITS.uncompressed);
    assert!(files.is_sorted_by(|a, b| a.0 < b.0), "names are sorted, each once");
    files.iter().for_each(|it| plain(&it.0));
    pack_again(&files);
    Outcome::taken(format!("{} files {}", files.len(), files.iter().all(|it| it.1.is_empty())))
}

/// A name is one file beside the others, wherever it is put.
fn plain(name: &str) {
    assert!(!matches!(name, "" | "." | ".."), "{name:?} is not a name");
    assert!(!name.contains(['/', '\\', '\0']) && name.len() <= 255, "{name:?} leads elsewhere");
}

/// The same documents make the same bundle, which unpacks to them.
fn pack_again(files: &[(String, Vec<u8>)]) {
    let id = |bytes: &[u8]| {
        let mut seed = [0; 16];
        seed.copy_from_slice(&Digest::of(bytes).as_bytes()[..16]);
        DeploymentId::from_bytes(seed)
    };
    let mut named: Vec<(DeploymentId, &[u8])> =
        files.iter().map(|it| (id(&it.1), it.1.as_slice())).collect();
    named.sort();
    named.dedup();
    let first = bundle::pack(named.iter().map(|it| (&it.0, it.1)));
    assert_eq!(first, bundle::pack(named.iter().rev().map(|it| (&it.0, it.1))));
    let again = bundle::unpack(&first, &LIMITS).expect("our bundle unpacks");
    let expected: Vec<(String, Vec<u8>)> =
        named.iter().map(|it| (format!("{}.yaml", it.0), it.1.to_vec())).collect();
    hold::same(&again, &expected, "a bundle");
}

/// The input itself if it is a gzip, else a gzip of the tar it is.
fn packed(input: &[u8]) -> Vec<u8> {
    if input.starts_with(&[0x1f, 0x8b]) {
        return input.to_vec();
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&sealed(input)).expect("memory");
    encoder.finish().expect("memory")
}

/// A gzip of a tar in which every header has the checksum it should have, so
/// that a change of a name is seen as that and not as a broken header.
#[cfg(feature = "adapters")]
pub(crate) fn tar_of(input: &[u8]) -> Vec<u8> {
    packed(input)
}

fn sealed(tar: &[u8]) -> Vec<u8> {
    let mut tar = tar.to_vec();
    let mut at = 0;
    while at + 512 <= tar.len() {
        if tar[at] != 0 {
            seal(&mut tar[at..at + 512]);
        }
        at += 512 + size(&tar[at..at + 512]).div_ceil(512).saturating_mul(512);
    }
    tar
}

fn seal(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|it| u32::from(*it)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn size(header: &[u8]) -> usize {
    let text = String::from_utf8_lossy(&header[124..136]);
    let digits = text.trim_matches(['\0', ' ']);
    usize::from_str_radix(digits, 8).unwrap_or(0).min(1 << 30)
}
