//! The transaction of central: a `Write` is stored completely or not at all.

use colony_core::fleet::{Row, RowKey};
use colony_core::time::Timestamp;

use crate::central::{catalog, change, event, operator, row};
use crate::database::bulk::Bulk;
use crate::database::query::{Query, Value};
use crate::database::tx::Tx;
use crate::{CentralStore, Change, Error, NewEvent, OperatorToken, Registry, note, used};

/// Changes that are stored in one transaction.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// `None` deletes the row.
    pub rows: Vec<(RowKey, Option<Row>)>,
    pub events: Vec<NewEvent>,
    pub changes_put: Vec<Change>,
    /// Ids of changes.
    pub changes_done: Vec<String>,
    pub notes: Vec<(String, serde_json::Value)>,
    /// `Error::Exists` if the name is taken.
    pub tokens_add: Vec<OperatorToken>,
    /// Names, removed before others are added; `Error::Missing` if one does not
    /// exist.
    pub tokens_remove: Vec<String>,
    /// `Error::Exists` if the name is taken.
    pub registries_add: Vec<Registry>,
    /// Names, removed before others are added; `Error::Missing` if one does not
    /// exist. Packages stay.
    pub registries_remove: Vec<String>,
    /// Scope, id and time: the whole write is refused with `Error::Used` if
    /// that id was used in that scope before.
    pub once: Option<(String, String, Timestamp)>,
}

impl Write {
    pub fn is_empty(&self) -> bool {
        let Write { rows, events, changes_put, changes_done, notes, .. } = self;
        let lists = [rows.len(), events.len(), changes_put.len(), changes_done.len(), notes.len()];
        lists == [0; 5] && !self.may_be_refused()
    }

    /// Whether the database may refuse it because of its existing rows.
    pub fn may_be_refused(&self) -> bool {
        let Write { tokens_add, tokens_remove, registries_add, registries_remove, once, .. } = self;
        let tokens = !tokens_add.is_empty() || !tokens_remove.is_empty();
        let registries = !registries_add.is_empty() || !registries_remove.is_empty();
        tokens || registries || once.is_some()
    }

    /// Adds a later write: both become one transaction, in which the later one
    /// wins for every row and note. At most one of them may have `once` set.
    pub fn append(&mut self, mut later: Write) {
        self.rows.append(&mut later.rows);
        self.events.append(&mut later.events);
        self.changes_put.append(&mut later.changes_put);
        self.changes_done.append(&mut later.changes_done);
        self.notes.append(&mut later.notes);
        self.tokens_add.append(&mut later.tokens_add);
        self.tokens_remove.append(&mut later.tokens_remove);
        self.registries_add.append(&mut later.registries_add);
        self.registries_remove.append(&mut later.registries_remove);
        self.once = later.once.or(self.once.take());
    }
}

impl CentralStore {
    /// Stores everything in one transaction. Returns the position of the
    /// newest event, of this write or of one before.
    pub async fn commit(&self, write: Write) -> Result<i64, Error> {
        let encoded = encode(write)?;
        let (mut tx, before) = self.begin(encoded.events.len(), encoded.changes.len()).await?;
        let position = match encoded.store(&mut tx, before).await {
            Ok(position) => position,
            Err(error) => {
                tx.rollback().await;
                return Err(error);
            }
        };
        colony_process::fail::hit(colony_process::fail::Point::CentralCommitOpen);
        tx.commit().await?;
        colony_process::fail::hit(colony_process::fail::Point::CentralCommitDone);
        Ok(position)
    }

    /// Returns when every write that began before has ended, including one
    /// whose caller stopped waiting during the commit: none of them changes
    /// what is read afterwards.
    pub async fn settle(&self) -> Result<(), Error> {
        let (tx, _) = self.begin(0, 0).await?;
        tx.rollback().await;
        Ok(())
    }

    /// One statement in a transaction of its own; returns how many rows were touched.
    pub(super) async fn execute(&self, query: Query) -> Result<u64, Error> {
        let (mut tx, _) = self.begin(0, 0).await?;
        let touched = tx.execute(query).await?;
        tx.commit().await?;
        Ok(touched)
    }

    /// Begins a transaction that writes, and takes the numbers it needs. Refuses
    /// if another process has claimed the database.
    pub(super) async fn begin(
        &self,
        events: usize,
        changes: usize,
    ) -> Result<(Tx, Numbers), Error> {
        let mut tx = self.db.begin().await?;
        if let Some(before) = take_numbers(&mut tx, self.holder, events, changes).await? {
            return Ok((tx, before));
        }
        tx.rollback().await;
        // An error if there is no row at all.
        super::holder(&self.db).await?;
        self.fenced.send_replace(true);
        Err(Error::Fenced)
    }
}

/// A write in its stored form: encoded before the transaction begins, because
/// all other writes wait while it is open.
#[derive(Debug)]
struct Encoded {
    once: Option<(String, String, Timestamp)>,
    events: Vec<Vec<Value>>,
    changes: Vec<change::Encoded>,
    done: Vec<Query>,
    rows: row::Encoded,
    notes: Bulk,
    exact: Vec<Exact>,
}

/// A statement that touches exactly one row, or else the whole write is
/// refused.
#[derive(Debug)]
pub(super) struct Exact {
    pub query: Query,
    pub otherwise: Error,
}

fn encode(write: Write) -> Result<Encoded, Error> {
    Ok(Encoded {
        exact: exact(&write)?,
        once: write.once,
        events: write.events.into_iter().map(event::encode).collect::<Result<_, _>>()?,
        changes: write.changes_put.iter().map(change::encode).collect::<Result<_, _>>()?,
        done: write.changes_done.iter().map(|it| change::done(it)).collect(),
        rows: row::encode(write.rows)?,
        notes: note::put_all(write.notes)?,
    })
}

fn exact(write: &Write) -> Result<Vec<Exact>, Error> {
    let mut all: Vec<Exact> = write.tokens_remove.iter().map(|it| operator::remove(it)).collect();
    all.extend(write.registries_remove.iter().map(|it| catalog::remove(it)));
    for it in &write.tokens_add {
        all.push(operator::add(it)?);
    }
    for it in &write.registries_add {
        all.push(catalog::add(it)?);
    }
    Ok(all)
}

impl Encoded {
    async fn store(self, tx: &mut Tx, before: Numbers) -> Result<i64, Error> {
        if let Some((scope, id, at)) = self.once {
            mark_used(tx, scope, id, at).await?;
        }
        for it in self.exact {
            if tx.execute(it.query).await? != 1 {
                return Err(it.otherwise);
            }
        }
        let position = before.position + self.events.len() as i64;
        store_events(tx, self.events, before.position).await?;
        let changes = self.changes.into_iter().zip(before.change + 1..);
        let changes = changes.map(|(it, number)| it.put(number));
        for query in changes.chain(self.done).chain(self.rows.deletes) {
            tx.execute(query).await?;
        }
        tx.insert(self.rows.puts).await?;
        tx.insert(self.notes).await?;
        Ok(position)
    }
}

/// The last numbers that were assigned before this write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    position: i64,
    change: i64,
}

/// Always the first statement, even if nothing is numbered: it locks the row,
/// so that no other write begins before this one is visible. `None` if another
/// process holds the claim.
async fn take_numbers(
    tx: &mut Tx,
    holder: i64,
    events: usize,
    changes: usize,
) -> Result<Option<Numbers>, Error> {
    let text = "UPDATE event_head SET position = position + $1, changes = changes + $2 \
                WHERE holder = $3 RETURNING position, changes";
    let (events, changes) = (events as i64, changes as i64);
    let query = Query::new("take positions", text).bind(events).bind(changes).bind(holder);
    let Some(line) = tx.fetch_optional(query).await? else { return Ok(None) };
    let (position, change) = (line.int("position")?, line.int("changes")?);
    Ok(Some(Numbers { position: position - events, change: change - changes }))
}

async fn mark_used(tx: &mut Tx, scope: String, id: String, at: Timestamp) -> Result<(), Error> {
    let touched = tx.execute(used::mark(&scope, &id, at)).await?;
    if touched == 1 { Ok(()) } else { Err(Error::Used { scope, id }) }
}

/// The position is the last column.
async fn store_events(tx: &mut Tx, mut rows: Vec<Vec<Value>>, before: i64) -> Result<(), Error> {
    for (row, position) in rows.iter_mut().zip(before + 1..) {
        row.push(position.into());
    }
    let bulk = Bulk { doing: "store events", head: event::INSERT, tail: "", rows };
    tx.insert(bulk).await.map_err(Error::or_event_stored)
}
