//! The events of all sites and of central, each with a fleet-wide position.

use colony_core::id::SiteName;
use colony_core::margo::Digest;
use colony_core::time::Timestamp;

use crate::database::document;
use crate::database::line::{Line, corrupt};
use crate::database::query::{Query, Value};
use crate::{CentralStore, Error};

/// An event that has no position yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub site: Option<SiteName>,
    /// With `seq` the place in the site's log; both are `None` for events of
    /// central.
    pub incarnation: Option<u32>,
    pub seq: Option<u64>,
    pub at: Timestamp,
    pub kind: String,
    /// The deployment's name.
    pub deployment: Option<String>,
    pub node: Option<String>,
    pub actor: String,
    pub hash: Option<Digest>,
    pub body: serde_json::Value,
}

/// An event as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    pub position: i64,
    pub site: Option<SiteName>,
    pub incarnation: Option<u32>,
    pub seq: Option<u64>,
    pub at: Timestamp,
    pub kind: String,
    pub deployment: Option<String>,
    pub node: Option<String>,
    pub actor: String,
    pub hash: Option<Digest>,
    pub body: serde_json::Value,
}

/// Selects events; an empty filter selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub site: Option<String>,
    pub deployment: Option<String>,
    pub node: Option<String>,
    pub kind: Option<String>,
}

impl CentralStore {
    /// The first `limit` events behind the position `after`.
    pub async fn events(
        &self,
        filter: &EventFilter,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, Error> {
        self.db.fetch(select(filter, Some(after), "ASC", limit), read).await
    }

    /// The newest `limit` events, oldest first.
    pub async fn events_last(
        &self,
        filter: &EventFilter,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, Error> {
        let mut found = self.db.fetch(select(filter, None, "DESC", limit), read).await?;
        found.reverse();
        Ok(found)
    }

    /// The position of the newest event; 0 if there is none.
    pub async fn event_head(&self) -> Result<i64, Error> {
        let query = Query::new("read the newest position", "SELECT position FROM event_head");
        Ok(self.db.fetch_one(query, |line| line.int("position")).await?.unwrap_or_default())
    }

    /// The hashes of the newest `limit` events of a log, oldest first.
    pub async fn event_hashes(
        &self,
        site: &SiteName,
        incarnation: u32,
        limit: usize,
    ) -> Result<Vec<Digest>, Error> {
        let text = "SELECT position, hash FROM event WHERE site = $1 AND incarnation = $2 \
                    ORDER BY seq DESC LIMIT $3";
        let query = Query::new("read the hashes of a log", text);
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let query = query.bind(site.as_str()).bind(incarnation).bind(limit);
        let mut found: Vec<Digest> =
            self.db.fetch(query, hash).await?.into_iter().flatten().collect();
        found.reverse();
        Ok(found)
    }

    pub async fn event_hash(
        &self,
        site: &SiteName,
        incarnation: u32,
        seq: u64,
    ) -> Result<Option<Digest>, Error> {
        let text = "SELECT position, hash FROM event \
                    WHERE site = $1 AND incarnation = $2 AND seq = $3";
        let query = Query::new("read the hash of an event", text);
        let query = query.bind(site.as_str()).bind(incarnation).bind(seq);
        Ok(self.db.fetch_one(query, hash).await?.flatten())
    }
}

pub(super) const INSERT: &str = "INSERT INTO event (site, incarnation, seq, at_ms, kind, \
                                 deployment, node, actor, hash, body, position)";

/// The row of an event without its position, which comes last.
pub(super) fn encode(event: NewEvent) -> Result<Vec<Value>, Error> {
    Ok(vec![
        event.site.map(String::from).into(),
        event.incarnation.into(),
        event.seq.into(),
        event.at.into(),
        short(event.kind).into(),
        event.deployment.map(short).into(),
        event.node.map(short).into(),
        event.actor.into(),
        event.hash.map(|it| it.to_string()).into(),
        document::write("an event", &event.body)?,
    ])
}

/// Postgres does not index long texts. A text that is longer than any name
/// matches no name, whole or cut.
fn short(text: String) -> String {
    match text.char_indices().nth(NAME_LIMIT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

const NAME_LIMIT: usize = 255;

/// The text contains only the conditions that are set, so that the engine can
/// choose the index.
fn select(filter: &EventFilter, after: Option<i64>, order: &str, limit: u32) -> Query {
    let wanted = [
        ("site", &filter.site),
        ("deployment", &filter.deployment),
        ("node", &filter.node),
        ("kind", &filter.kind),
    ];
    let mut values = vec![Value::from(after.unwrap_or(i64::MIN))];
    let mut text = "SELECT * FROM event WHERE position > $1".to_owned();
    for (column, value) in wanted {
        if let Some(value) = value {
            values.push(value.as_str().into());
            text.push_str(&format!(" AND {column} = ${}", values.len()));
        }
    }
    values.push(limit.into());
    text.push_str(&format!(" ORDER BY position {order} LIMIT ${}", values.len()));
    Query::built("read events", text, values, true)
}

fn read(line: &Line) -> Result<StoredEvent, Error> {
    let position = line.int("position")?;
    let named = named(position);
    let site: Option<Result<SiteName, _>> = line.text_or_none("site")?.map(|it| it.parse());
    Ok(StoredEvent {
        position,
        site: site.transpose().map_err(|it| corrupt(&named, &it))?,
        incarnation: line.unsigned("incarnation")?,
        seq: line.unsigned("seq")?,
        at: Timestamp(line.unsigned("at_ms")?.unwrap_or_default()),
        kind: line.text("kind")?,
        deployment: line.text_or_none("deployment")?,
        node: line.text_or_none("node")?,
        actor: line.text("actor")?,
        hash: hash(line)?,
        body: line.body(&named)?,
    })
}

fn hash(line: &Line) -> Result<Option<Digest>, Error> {
    let hash = line.text_or_none("hash")?.map(|it| it.parse::<Digest>()).transpose();
    let position = line.int("position")?;
    hash.map_err(|it| corrupt(&named(position), &it))
}

fn named(position: i64) -> String {
    format!("event {position}")
}
