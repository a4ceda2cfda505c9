//! The migrations of the tables: plain SQL files that only add.

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use crate::Error;
use crate::database::db::Db;
use crate::database::open;

/// Number, name and text of each, in order.
pub(crate) type Migrations = &'static [(i64, &'static str, &'static str)];

pub(crate) const CENTRAL: Migrations = &[
    (1, "first", include_str!("../../migrations/central/0001_first.sql")),
    (2, "holder", include_str!("../../migrations/central/0002_holder.sql")),
];

pub(crate) const LOCAL: Migrations =
    &[(1, "first", include_str!("../../migrations/local/0001_first.sql"))];

pub(crate) async fn run(db: &Db, migrations: Migrations) -> Result<(), Error> {
    let migrations = migrations.iter().map(|&(number, name, text)| {
        let text = SqlStr::from_static(text);
        Migration::new(number, name.into(), MigrationType::Simple, text, false)
    });
    let migrator = Migrator::with_migrations(migrations.collect());
    let done = match db {
        Db::Sqlite { write, .. } => migrator.run(write).await,
        Db::Pg(pool) => migrator.run(&mut open::patient(pool).await?).await,
    };
    done.map_err(Error::Migration)
}
