//! The events of all sites and of CO itself, each with a fleet-wide position.

use colony_core::id::SiteName;
use colony_core::time::Wall;
use colony_margo::Digest;

use crate::{CentralStore, Error};

/// An event that has no position yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub site: Option<SiteName>,
    /// With `seq` the place in the site's log; both are `None` for CO's own.
    pub incarnation: Option<u32>,
    pub seq: Option<u64>,
    pub at: Wall,
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
    pub at: Wall,
    pub kind: String,
    pub deployment: Option<String>,
    pub node: Option<String>,
    pub actor: String,
    pub hash: Option<Digest>,
    pub body: serde_json::Value,
}

/// Which events are asked for; nothing set means all.
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
        _filter: &EventFilter,
        _after: i64,
        _limit: u32,
    ) -> Result<Vec<StoredEvent>, Error> {
        todo!()
    }

    /// The newest `limit` events, oldest first.
    pub async fn events_last(
        &self,
        _filter: &EventFilter,
        _limit: u32,
    ) -> Result<Vec<StoredEvent>, Error> {
        todo!()
    }

    /// The position of the newest event; 0 if there is none.
    pub async fn event_head(&self) -> Result<i64, Error> {
        todo!()
    }

    /// The hashes of the newest `limit` events of a log, oldest first.
    pub async fn event_hashes(
        &self,
        _site: &SiteName,
        _incarnation: u32,
        _limit: usize,
    ) -> Result<Vec<Digest>, Error> {
        todo!()
    }

    pub async fn event_hash(
        &self,
        _site: &SiteName,
        _incarnation: u32,
        _seq: u64,
    ) -> Result<Option<Digest>, Error> {
        todo!()
    }
}
