//! Versions of files that the site no longer holds: its clone of the repository
//! has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::debug;

use colony_core::document::FileFacts;
use colony_core::id::BlobId;

/// How many files are remembered. Whoever reads a long log reads more of them
/// again and again.
const LIMIT: usize = 1_000;

/// What files of the past say, as far as somebody asked.
#[derive(Debug)]
pub(crate) struct FormerVersions {
    clone: PathBuf,
    /// `None`: the clone has no such deployment.
    known: Mutex<BTreeMap<BlobId, Option<Arc<FileFacts>>>>,
}

impl FormerVersions {
    pub(crate) fn new(clone: PathBuf) -> FormerVersions {
        FormerVersions { clone, known: Mutex::default() }
    }

    /// What is known of a file; `None` as long as nobody has read it.
    pub(super) fn known(&self, blob: &BlobId) -> Option<Option<Arc<FileFacts>>> {
        self.known.lock().get(blob).cloned()
    }

    /// Reads those files that nobody has read yet.
    pub(super) async fn read(&self, blobs: BTreeSet<BlobId>) {
        let missing: Vec<BlobId> = {
            let known = self.known.lock();
            blobs.into_iter().filter(|it| !known.contains_key(it)).take(LIMIT).collect()
        };
        if missing.is_empty() {
            return;
        }
        let (clone, wanted) = (self.clone.clone(), missing.clone());
        let read = tokio::task::spawn_blocking(move || colony_git::files(&clone, &wanted)).await;
        let texts = match read {
            Ok(Ok(texts)) => texts,
            Ok(Err(error)) => {
                debug!(error = %error, "could not read files of the past");
                BTreeMap::new()
            }
            Err(_) => BTreeMap::new(),
        };
        let mut known = self.known.lock();
        if known.len() + missing.len() > LIMIT {
            known.clear();
        }
        known.extend(missing.into_iter().map(|blob| {
            let facts = texts.get(&blob).and_then(|it| FileFacts::read(it)).map(Arc::new);
            (blob, facts)
        }));
    }
}
