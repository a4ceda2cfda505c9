//! What the central orchestrator kept of its sites.

use colony_core::fleet::{Fleet, Row, RowBody, RowKey};
use colony_core::id::SiteName;

use super::rows::{WALL, read};
use crate::{Outcome, hold};

pub(super) fn rows(input: &[u8]) -> Outcome {
    let rows: Vec<Row> = match read(input) {
        Ok(rows) => rows,
        Err(outcome) => return outcome,
    };
    let mut kept = StoredRows::default();
    rows.into_iter().for_each(|it| kept.put(key(&it), Some(it)));
    let mut fleet = kept.restored();
    for (key, row) in &kept.rows {
        hold::same(&fleet.row(key), &Some(row.clone()), "a row");
    }
    let seen = live(&mut fleet);
    let changed = fleet.take_changed();
    changed.keys().for_each(|it| kept.put(it.clone(), fleet.row(it)));
    hold::same(&kept.restored(), &fleet, "what a restart finds");
    let sites: Vec<SiteName> = fleet.sites().map(|it| it.0.clone()).collect();
    sites.iter().for_each(|it| drop(fleet.apply(it, &[], WALL)));
    Outcome::taken(format!("{seen:?} {}", kept.kinds()))
}

/// The rows of a database: one under each key.
#[derive(Default)]
struct StoredRows {
    rows: Vec<(RowKey, Row)>,
}

impl StoredRows {
    fn put(&mut self, key: RowKey, row: Option<Row>) {
        self.rows.retain(|it| it.0 != key);
        self.rows.extend(row.map(|it| (key, it)));
    }

    /// The fleet of these rows, whatever their order.
    fn restored(&self) -> Fleet {
        let rows = || self.rows.iter().map(|it| it.1.clone());
        let fleet = Fleet::restore(rows());
        hold::same(&Fleet::restore(rows().rev()), &fleet, "in another order");
        fleet
    }

    fn kinds(&self) -> String {
        let mut kinds: Vec<char> = self.rows.iter().map(|it| kind(&it.0)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.into_iter().collect()
    }
}

/// Whatever was restored, it goes on.
fn live(fleet: &mut Fleet) -> Vec<bool> {
    let sites: Vec<SiteName> = fleet.sites().map(|it| it.0.clone()).collect();
    let one = |site| {
        let joined = fleet.join(site, WALL, true);
        let _ = fleet.record_contact(site, WALL);
        joined.is_ok()
    };
    sites.iter().map(one).collect()
}

fn key(row: &Row) -> RowKey {
    let site = row.site.clone();
    match &row.body {
        RowBody::Site(_) => RowKey::Site(site),
        RowBody::Holds(_) => RowKey::Holds(site),
        RowBody::File(path, _) => RowKey::File(site, path.clone()),
        RowBody::Node(node, _) => RowKey::Node(site, node.clone()),
        RowBody::Deployment(it) => RowKey::Deployment(site, it.id.clone()),
        RowBody::Placement(it) => RowKey::Placement(site, it.id.clone()),
        RowBody::Target(name, _) => RowKey::Target(site, name.clone()),
        RowBody::Command(number, _) => RowKey::Command(site, *number),
        RowBody::Archive(id, _) => RowKey::Archive(site, id.clone()),
        RowBody::Answer(key, _) => RowKey::Answer(site, key.clone()),
    }
}

fn kind(key: &RowKey) -> char {
    match key {
        RowKey::Site(_) => 's',
        RowKey::Holds(_) => 'h',
        RowKey::File(..) => 'f',
        RowKey::Node(..) => 'n',
        RowKey::Deployment(..) => 'd',
        RowKey::Placement(..) => 'p',
        RowKey::Target(..) => 't',
        RowKey::Command(..) => 'c',
        RowKey::Archive(..) => 'a',
        RowKey::Answer(..) => 'w',
    }
}
