//! The archive of a component.

use std::collections::BTreeMap;

use colony_runtime::compose::{Archive, Limits};

use crate::targets::margo::tar_of;
use crate::{Outcome, hold};

pub(super) fn archive(input: &[u8]) -> Outcome {
    let packed = tar_of(input);
    let small =
        Limits { compressed: 64 << 10, total: 32 << 10, ratio: 20, file: 2 << 10, entries: 8 };
    if let Ok(archive) = Archive::unpack_within(&packed, &small) {
        check_limits(&archive, &small);
    }
    match Archive::unpack(&packed) {
        Err(found) => {
            hold::refusal(b"", &found);
            Outcome::found(&found)
        }
        Ok(archive) => {
            check_limits(&archive, &Limits::default());
            let project = archive.project(&BTreeMap::new());
            let files = archive.files().count().min(5);
            Outcome::taken(format!("{} {}", project.is_ok(), "f".repeat(files)))
        }
    }
}

/// Limits hold, and no path leaves the archive.
fn check_limits(archive: &Archive, limits: &Limits) {
    assert!(archive.files().count() <= limits.entries);
    let total: usize = archive.files().map(|it| it.1.len()).sum();
    assert!(total <= limits.total, "{total} bytes of files");
    for (path, bytes) in archive.files() {
        assert!(bytes.len() <= limits.file, "{path} has {} bytes", bytes.len());
        assert!(!path.starts_with('/') && !path.contains('\\'), "{path:?} leads elsewhere");
        assert!(path.split('/').all(|it| !matches!(it, "" | "." | "..")), "{path:?} leads out");
    }
}
