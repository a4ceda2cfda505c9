//! The tokens of operators: who may call the API. Only hashes are kept.

use serde::{Deserialize, Serialize};

use colony_core::time::Wall;

use crate::{CentralStore, Error};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorToken {
    pub name: String,
    pub hash: String,
    pub role: String,
    /// The sites it is good for; empty for all.
    pub sites: Vec<String>,
    pub created: Wall,
}

impl CentralStore {
    /// Stores a token under its name, in place of the one before.
    pub async fn token_put(&self, _token: &OperatorToken) -> Result<(), Error> {
        todo!()
    }

    pub async fn token_by_hash(&self, _hash: &str) -> Result<Option<OperatorToken>, Error> {
        todo!()
    }

    /// All tokens, by name.
    pub async fn token_list(&self) -> Result<Vec<OperatorToken>, Error> {
        todo!()
    }

    /// False if there was none.
    pub async fn token_delete(&self, _name: &str) -> Result<bool, Error> {
        todo!()
    }
}
