//! The archive of a compose component, in memory.

use std::collections::BTreeMap;

use colony_margo::Finding;

use super::Project;

/// What an archive may cost to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes as sent.
    pub compressed: usize,
}

/// The files of an archive, by their path below its one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    files: BTreeMap<String, Vec<u8>>,
}

impl Archive {
    /// Reads an archive, or says all that is wrong with it.
    pub fn unpack(_bytes: &[u8]) -> Result<Archive, Vec<Finding>> {
        todo!()
    }

    /// Reads the compose file with these parameters, or says all that is wrong.
    pub fn project(&self, _parameters: &BTreeMap<String, String>) -> Result<Project, Vec<Finding>> {
        todo!()
    }

    /// The files by path, such as `compose.yaml` and `conf/app.toml`.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }
}
