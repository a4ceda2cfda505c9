//! The API tokens of operators. Only hashes are stored.

use serde::{Deserialize, Serialize};

use colony_core::time::Timestamp;

use crate::central::write::Exact;
use crate::database::document;
use crate::database::line::Line;
use crate::database::query::Query;
use crate::{CentralStore, Error};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorToken {
    pub name: String,
    pub hash: String,
    pub role: String,
    /// The sites it is valid for; empty for all.
    pub sites: Vec<String>,
    pub created: Timestamp,
    /// `None` if it is valid until it is deleted.
    pub expires: Option<Timestamp>,
}

impl CentralStore {
    pub async fn token_by_hash(&self, hash: &str) -> Result<Option<OperatorToken>, Error> {
        let text = "SELECT name, body FROM operator_token WHERE hash = $1";
        self.db.fetch_one(Query::new("look a token up", text).bind(hash), read).await
    }

    /// All tokens, by name.
    pub async fn token_list(&self) -> Result<Vec<OperatorToken>, Error> {
        let text = "SELECT name, body FROM operator_token";
        let mut found = self.db.fetch(Query::new("read the tokens", text), read).await?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// Adds a token, unless its name is taken.
pub(super) fn add(token: &OperatorToken) -> Result<Exact, Error> {
    let text = "INSERT INTO operator_token (name, hash, body) VALUES ($1, $2, $3) \
                ON CONFLICT (name) DO NOTHING";
    let body = document::write(&named(&token.name), token)?;
    let query = Query::new("add a token", text);
    let query = query.bind(token.name.as_str()).bind(token.hash.as_str()).bind(body);
    Ok(Exact { query, otherwise: Error::Exists { what: named(&token.name) } })
}

pub(super) fn remove(name: &str) -> Exact {
    let text = "DELETE FROM operator_token WHERE name = $1";
    let query = Query::new("delete a token", text).bind(name);
    Exact { query, otherwise: Error::Missing { what: named(name) } }
}

fn read(line: &Line) -> Result<OperatorToken, Error> {
    line.body(&named(&line.text("name")?))
}

fn named(name: &str) -> String {
    format!("token `{name}`")
}
