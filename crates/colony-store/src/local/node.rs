//! The identities that the site issued to its nodes.

use serde::{Deserialize, Serialize};

use colony_core::time::Timestamp;

use crate::database::document;
use crate::database::line::Line;
use crate::database::query::Query;
use crate::{Error, LocalStore};

/// The certificate that was issued to a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeIdentity {
    pub name: String,
    pub fingerprint: String,
    pub issued: Timestamp,
    pub expires: Timestamp,
    pub retired: bool,
    /// The digest of its public key; `None` if it is older than stored keys.
    pub key: Option<String>,
    /// The key before a renewal with another one, valid until the node presents
    /// that one.
    pub before: Option<String>,
    /// Keys of former owners of the name, the newest last.
    #[serde(default)]
    pub former: Vec<String>,
}

impl LocalStore {
    /// Stores an identity under its name; replaces the previous one.
    pub async fn node_put(&self, node: &NodeIdentity) -> Result<(), Error> {
        let text = "INSERT INTO node (name, body) VALUES ($1, $2) \
                    ON CONFLICT (name) DO UPDATE SET body = excluded.body";
        let body = document::write(&named(&node.name), node)?;
        let query = Query::new("store a node's identity", text);
        self.db.execute(query.bind(node.name.as_str()).bind(body)).await.map(drop)
    }

    pub async fn node_get(&self, name: &str) -> Result<Option<NodeIdentity>, Error> {
        let text = "SELECT name, body FROM node WHERE name = $1";
        self.db.fetch_one(Query::new("read a node's identity", text).bind(name), read).await
    }

    /// All nodes, by name.
    pub async fn node_list(&self) -> Result<Vec<NodeIdentity>, Error> {
        let query = Query::new("read the nodes' identities", "SELECT name, body FROM node");
        let mut found = self.db.fetch(query, read).await?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

fn read(line: &Line) -> Result<NodeIdentity, Error> {
    line.body(&named(&line.text("name")?))
}

fn named(name: &str) -> String {
    format!("node `{name}`")
}
