//! The site's own event log, kept until central has it and operators no longer
//! need it.

use colony_core::event::Event;
use colony_core::time::Timestamp;

use crate::database::bulk::Bulk;
use crate::database::document;
use crate::database::line::Line;
use crate::database::query::{Query, Value};
use crate::{Error, LocalStore};

impl LocalStore {
    /// The first `limit` events of an incarnation, from `seq` on.
    pub async fn events_from(
        &self,
        incarnation: u32,
        seq: u64,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let text = "SELECT incarnation, seq, body FROM event \
                    WHERE incarnation = $1 AND seq >= $2 ORDER BY seq LIMIT $3";
        let query = Query::new("read events", text).bind(incarnation).bind(seq).bind(limit);
        self.db.fetch(query, read).await
    }

    /// The newest `limit` events, oldest first.
    pub async fn events_last(&self, limit: u32) -> Result<Vec<Event>, Error> {
        let text = "SELECT incarnation, seq, body FROM event \
                    ORDER BY incarnation DESC, seq DESC LIMIT $1";
        let query = Query::new("read the newest events", text).bind(limit);
        let mut found = self.db.fetch(query, read).await?;
        found.reverse();
        Ok(found)
    }

    /// Deletes events older than `before` that are below `below_seq` of
    /// `incarnation` or belong to an earlier incarnation; returns how many.
    pub async fn events_prune(
        &self,
        incarnation: u32,
        below_seq: u64,
        before: Timestamp,
    ) -> Result<u64, Error> {
        let text = "DELETE FROM event WHERE at_ms < $3 \
                    AND (incarnation < $1 OR (incarnation = $1 AND seq < $2))";
        let query = Query::new("forget old events", text);
        self.db.execute(query.bind(incarnation).bind(below_seq).bind(before)).await
    }
}

pub(super) fn encode(events: &[Event]) -> Result<Bulk, Error> {
    let rows: Result<Vec<Vec<Value>>, Error> = events.iter().map(row).collect();
    let head = "INSERT INTO event (incarnation, seq, at_ms, body)";
    Ok(Bulk { doing: "store events", head, tail: "", rows: rows? })
}

fn row(event: &Event) -> Result<Vec<Value>, Error> {
    let body = document::write(&named(event.incarnation.into(), event.seq), event)?;
    Ok(vec![event.incarnation.into(), event.seq.into(), event.at.into(), body])
}

fn read(line: &Line) -> Result<Event, Error> {
    line.body(&named(line.int("incarnation")?, line.unsigned("seq")?.unwrap_or_default()))
}

fn named(incarnation: i64, seq: u64) -> String {
    format!("event {seq} of incarnation {incarnation}")
}
