//! Rows of the projection.

use std::collections::BTreeSet;

use colony_core::fleet::{Fleet, Row, RowBody, RowKey};
use colony_core::id::SiteName;
use colony_store::Write;

use crate::database::Database;
use crate::sample;

pub(crate) async fn a_fleet_comes_back_as_it_was(it: &Database) {
    let store = it.open().await;
    let (mut fleet, writes) = sample::fleet(&sample::plant());
    for write in writes {
        store.commit(write).await.expect("it is stored");
    }
    let other: SiteName = "other".parse().expect("a name");
    fleet.site_add(&other);
    let changed = fleet.take_changed();
    let rows = changed.keys().map(|it| (it.clone(), fleet.row(it))).collect();
    store.commit(Write { rows, ..Write::default() }).await.expect("it is stored");

    assert_eq!(Fleet::restore(store.fleet_rows().await.expect("rows")), fleet);
    let of_other = store.fleet_rows_of(&other).await.expect("rows");
    assert!(!of_other.is_empty() && of_other.iter().all(|it| it.site == other));
    let mut reloaded = fleet.clone();
    reloaded.reload(&sample::home(), store.fleet_rows_of(&sample::home()).await.expect("rows"));
    assert_eq!(reloaded, fleet);
}

pub(crate) async fn any_path_names_its_own_row(it: &Database) {
    let store = it.open().await;
    let long = "x".repeat(100_000);
    let paths = ["a", "a\0", "a\u{fffd}", "a\\u{0}", "ä/'\"%_", &long, &format!("{long}y")];
    let rows = paths.iter().map(|it| (key(it), Some(row(it)))).collect();
    store.commit(Write { rows, ..Write::default() }).await.expect("it is stored");
    assert_eq!(stored(&store).await, paths.iter().map(|it| it.to_string()).collect());

    let rows = vec![(key("a\0"), None), (key(&long), None), (key("never"), None)];
    store.commit(Write { rows, ..Write::default() }).await.expect("it is stored");
    assert_eq!(stored(&store).await.len(), paths.len() - 2);
}

async fn stored(store: &colony_store::CentralStore) -> BTreeSet<String> {
    let rows = store.fleet_rows().await.expect("rows").into_iter();
    rows.map(|it| {
        let RowBody::File(path, _) = it.body else { panic!("not a file: {it:?}") };
        path
    })
    .collect()
}

fn key(path: &str) -> RowKey {
    RowKey::File(sample::home(), path.to_owned())
}

fn row(path: &str) -> Row {
    Row { site: sample::home(), body: RowBody::File(path.to_owned(), Default::default()) }
}
