//! Backups, as an operator hands them to a restore.

use std::collections::BTreeSet;

use colony_central::fuzz;
use tar::{Builder, EntryType, Header};

use crate::{Outcome, hold};

/// A tar archive; its checksums are put right, or hardly any would be opened.
pub(super) fn backup(input: &[u8]) -> Outcome {
    let _ = read(input);
    match read(&mended(input)) {
        Err(said) => Outcome::refused(said),
        Ok(files) => {
            let again = read(&packed(&files)).expect("packed again it is read");
            hold::same(&again, &files, "a backup");
            Outcome::taken(files.len())
        }
    }
}

type Files = Vec<(&'static str, Vec<u8>)>;

fn read(bytes: &[u8]) -> Result<Files, String> {
    let (files, about) = fuzz::backup(bytes).inspect_err(|said| {
        assert!(said.len() <= 2048, "{} bytes: {said:.200}", said.len());
        assert!(!said.contains(char::is_control), "{said:?} breaks its line");
    })?;
    let names: BTreeSet<&str> = files.iter().map(|it| it.0).collect();
    assert_eq!(names.len(), files.len(), "a file twice");
    assert!(["backup.json", "ca/ca.key", "token.key"].iter().all(|it| names.contains(it)));
    let large = |it: &str| matches!(it, "central.db" | "deployments.bundle");
    assert!(files.iter().all(|it| large(it.0) || it.1.len() <= 64 << 10), "a long file");
    assert!(files.iter().map(|it| it.1.len()).sum::<usize>() <= bytes.len(), "more than there is");
    assert_eq!(about.format, 1);
    Ok(files)
}

/// The archive as it is, each header with the sum of its bytes.
fn mended(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut at = 0;
    while let Some(block) = bytes.get_mut(at..at + 512) {
        if block.iter().all(|it| *it == 0) {
            break;
        }
        let mut header = Header::from_byte_slice(block).clone();
        header.set_cksum();
        block.copy_from_slice(header.as_bytes());
        let size = header.size().unwrap_or(0).min(input.len() as u64);
        at += 512 + (size as usize).next_multiple_of(512);
    }
    bytes
}

fn packed(files: &Files) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_mode(0o600);
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes.as_slice()).expect("memory");
    }
    tar.into_inner().expect("memory")
}
