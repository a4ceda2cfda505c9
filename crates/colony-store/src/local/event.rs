//! The site's own log, kept until CO has it and people no longer ask for it.

use colony_core::event::Event;
use colony_core::time::Wall;

use crate::bulk::Bulk;
use crate::line::Line;
use crate::query::{Query, Value};
use crate::{Error, LocalStore, document};

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

    /// Forgets events from before `before` that lie below `below_seq` of
    /// `incarnation` or in one before it; returns how many.
    pub async fn events_prune(
        &self,
        incarnation: u32,
        below_seq: u64,
        before: Wall,
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
