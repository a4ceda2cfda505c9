//! What came of a fault, as the suite in `tests/chaos` records it and the
//! program of this crate shows it.

pub mod table;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Where the suite writes its records, one JSON object on each line.
pub const RESULTS: &str = "COLONY_CHAOS_RESULTS";

/// One test: what was done to the fleet, and what was left of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The name of the test.
    pub test: String,
    /// What kind of fault, such as `kill -9`.
    pub fault: String,
    /// The target of the fault: `central`, `local`, `node`, or another one.
    pub role: String,
    pub engine: String,
    /// How often it was done.
    pub faults: u64,
    /// Events the central orchestrator had acknowledged at the end.
    pub acknowledged: u64,
    /// Events one of the logs has and should not have lost.
    pub lost: u64,
    /// Containers that ran before and were restarted or replaced without need.
    pub restarted: u64,
    /// From the end of the fault until everything was as it should be.
    pub seconds: f64,
    /// How often `colony why` was asked while the fault lasted, and answered with a cause.
    pub asked: u64,
    pub answered: u64,
}

impl Record {
    pub fn append(&self, path: &Path) -> anyhow::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let line = serde_json::to_string(self)?;
        writeln!(file, "{line}")?;
        Ok(())
    }
}

/// All records of a file.
pub fn read(text: &str) -> anyhow::Result<Vec<Record>> {
    let lines = text.lines().filter(|it| !it.trim().is_empty());
    lines.map(|it| Ok(serde_json::from_str(it)?)).collect()
}
