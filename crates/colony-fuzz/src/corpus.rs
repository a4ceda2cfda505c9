//! The inputs a target starts from: small files, one folder per target.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The inputs of one target, by file name.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    pub files: Vec<(String, Vec<u8>)>,
}

/// The folder of the corpora, in the source tree.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

impl Corpus {
    /// Reads the corpus of a target; none is an error, for nothing grows from nothing.
    pub fn read(root: &Path, target: &str) -> io::Result<Corpus> {
        let dir = root.join(target);
        let mut files = Vec::new();
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            let name = path.file_name().map(|it| it.to_string_lossy().into_owned());
            files.push((name.unwrap_or_default(), fs::read(&path)?));
        }
        files.sort();
        match files.is_empty() {
            true => Err(io::Error::other(format!("{} is empty", dir.display()))),
            false => Ok(Corpus { files }),
        }
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
