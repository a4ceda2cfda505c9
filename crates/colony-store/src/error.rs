//! Why the store did not do what was asked.

/// The whole chain of sources says why; the text says what we were doing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not printed: it may hold a password.
    #[error("the database URL must have the form `sqlite:/path/file.db` or `postgres://…`")]
    Address,
    #[error("could not {doing}")]
    Database {
        doing: &'static str,
        #[source]
        source: sqlx::Error,
    },
    #[error("could not migrate the tables to this version")]
    Migration(#[source] sqlx::migrate::MigrateError),
    #[error("could not create the database file")]
    File(#[source] std::io::Error),
    /// The stored value cannot be read by this version.
    #[error("{what} is stored but cannot be read: {reason}")]
    Corrupt { what: String, reason: String },
    #[error("could not serialize {what} as JSON")]
    Unwritable {
        what: String,
        #[source]
        source: serde_json::Error,
    },
    /// The single use of `id` was spent before; nothing of the write was
    /// stored.
    #[error("`{id}` was already used")]
    Used { scope: String, id: String },
    /// The item to add already exists; nothing of the write was stored.
    #[error("{what} already exists")]
    Exists { what: String },
    /// The item to remove does not exist; nothing of the write was stored.
    #[error("{what} does not exist")]
    Missing { what: String },
    /// Another write stored one of these events; nothing of the write was
    /// stored.
    #[error("an event of this write is already stored")]
    EventStored,
    /// A commit that this write depended on or was part of failed.
    #[error("commit failed; reverted to the last stored state: {problem}")]
    Uncommitted { problem: String },
    /// Another process holds the claim; nothing was opened.
    #[error("the database is in use by {by}; one central orchestrator at a time may use it")]
    Claimed { by: String },
    /// Another process has claimed the database since; nothing of the write was stored.
    #[error("another process has claimed the database; this one has to stop")]
    Fenced,
}

impl Error {
    /// The database checked the write and refused it: nothing is stored.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Used { .. } | Error::Exists { .. } | Error::Missing { .. })
    }

    /// The only unique key of an event is its place in its log.
    pub(crate) fn or_event_stored(self) -> Error {
        let stored = matches!(&self, Error::Database { source: sqlx::Error::Database(it), .. }
            if it.is_unique_violation());
        if stored { Error::EventStored } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_database_looked_at_is_a_refusal() {
        let what = || "token `ana`".to_owned();
        check(Error::Used { scope: "join".to_owned(), id: "t1".to_owned() }, true);
        check(Error::Exists { what: what() }, true);
        check(Error::Missing { what: what() }, true);
        check(Error::Fenced, false);
        check(Error::EventStored, false);
        check(Error::Database { doing: "commit", source: sqlx::Error::PoolTimedOut }, false);
    }

    #[track_caller]
    fn check(error: Error, expected: bool) {
        assert_eq!(error.is_refusal(), expected, "{error}");
    }
}
