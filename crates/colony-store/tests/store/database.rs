//! An empty database of either engine, and a way past the store.

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;

use colony_store::CentralStore;

use crate::postgres::Server;

pub(crate) enum Engine {
    Sqlite(TempDir),
    Postgres(Server),
}

/// One database of a test.
pub(crate) struct Database {
    pub(crate) url: String,
}

impl Engine {
    pub(crate) fn sqlite() -> Engine {
        Engine::Sqlite(tempfile::tempdir().expect("a folder"))
    }

    /// Nothing on it has to survive a power cut.
    pub(crate) fn postgres() -> Engine {
        Engine::Postgres(Server::start(&["fsync=off"]))
    }

    pub(crate) async fn database(&self, name: &str) -> Database {
        let url = match self {
            Engine::Sqlite(folder) => format!("sqlite:{}/{name}.db", folder.path().display()),
            Engine::Postgres(server) => {
                let admin = Database { url: server.url("postgres") };
                admin.sql(&format!("CREATE DATABASE {name}")).await;
                server.url(name)
            }
        };
        Database { url }
    }
}

impl Database {
    pub(crate) async fn open(&self) -> CentralStore {
        CentralStore::open(&self.url).await.expect("the database opens")
    }

    /// What the server calls it.
    pub(crate) fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.url.starts_with("sqlite:")
    }

    /// What another user does to the tables.
    pub(crate) async fn sql(&self, text: &str) {
        let text = AssertSqlSafe(text.to_owned());
        if self.is_sqlite() {
            let mut connection = SqliteConnection::connect(&self.url).await.expect("it opens");
            sqlx::raw_sql(text).execute(&mut connection).await.expect("the statement runs");
            connection.close().await.expect("it closes");
        } else {
            let mut connection = PgConnection::connect(&self.url).await.expect("it connects");
            sqlx::raw_sql(text).execute(&mut connection).await.expect("the statement runs");
            connection.close().await.expect("it closes");
        }
    }

    /// From here on commits take their time after the positions were taken:
    /// up to about 10 ms, each its own.
    pub(crate) async fn slow_commits(&self) {
        self.sql(if self.is_sqlite() { SLOW_SQLITE } else { SLOW_POSTGRES }).await;
    }
}

const SLOW_POSTGRES: &str = "\
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN PERFORM pg_sleep(random() * 0.01); RETURN NULL; END $$; \
    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON event \
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();";

const SLOW_SQLITE: &str = "\
    CREATE TABLE dawdle (n INTEGER); \
    INSERT INTO dawdle WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 200) SELECT n FROM c; \
    CREATE TRIGGER dawdle AFTER INSERT ON event BEGIN \
    SELECT count(*) FROM dawdle a, dawdle b WHERE a.n < abs(random()) % 200; END;";
