//! Changes to Git that are asked for and not done: the crash-safe queue
//! between "accepted" and "pushed". `Write` puts them in and takes them out.

use serde::{Deserialize, Serialize};

use colony_core::id::BlobId;
use colony_core::time::Wall;

use crate::{CentralStore, Error};

/// One commit that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// A UUID of version 7.
    pub id: String,
    pub at: Wall,
    pub actor: String,
    pub message: String,
    pub trailers: Vec<(String, String)>,
    pub edits: Vec<ChangeEdit>,
}

/// One file of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEdit {
    pub path: String,
    /// What the file held when the change was accepted.
    pub expected: Option<BlobId>,
    /// What it is to hold; `None` if it is to go.
    pub text: Option<String>,
}

impl CentralStore {
    /// What is not done yet, in the order it was accepted.
    pub async fn changes_open(&self) -> Result<Vec<Change>, Error> {
        todo!()
    }
}
