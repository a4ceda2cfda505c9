//! Versions of files that the site no longer holds: its clone of the repository
//! has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::debug;

use colony_core::document::FileFacts;
use colony_core::id::BlobId;

/// How many files are cached. A reader of a log with more files reads some of
/// them repeatedly.
const LIMIT: usize = 1_000;

/// The facts of former files: a cache of what requests have read from the clone.
#[derive(Debug)]
pub(crate) struct FormerVersions {
    clone: PathBuf,
    known: Mutex<BTreeMap<BlobId, Arc<FileFacts>>>,
}

impl FormerVersions {
    pub(crate) fn new(clone: PathBuf) -> FormerVersions {
        FormerVersions { clone, known: Mutex::default() }
    }

    /// The facts of a file that is in the cache.
    pub(super) fn known(&self, blob: &BlobId) -> Option<Arc<FileFacts>> {
        self.known.lock().get(blob).cloned()
    }

    /// Reads the files that are not in the cache. A file that the clone does not
    /// have may come with the next fetch.
    pub(super) async fn read(&self, mut blobs: BTreeSet<BlobId>) {
        blobs.retain(|it| self.known(it).is_none());
        let missing: Vec<BlobId> = blobs.into_iter().take(LIMIT).collect();
        if missing.is_empty() {
            return;
        }
        let clone = self.clone.clone();
        let read = move || colony_git::files(&clone, &missing, FileFacts::read);
        match tokio::task::spawn_blocking(read).await {
            Ok(Ok(found)) => {
                let mut known = self.known.lock();
                if known.len() + found.len() > LIMIT {
                    known.clear();
                }
                known.extend(found.into_iter().map(|(blob, facts)| (blob, Arc::new(facts))));
            }
            Ok(Err(error)) => debug!(error = %error, "could not read files of the past"),
            Err(error) => debug!(error = %error, "could not read files of the past"),
        }
    }
}
