//! Which rows of the transition table, error codes and causes a run met.

use std::collections::BTreeMap;
use std::fmt::Write;

use colony_core::code::Code;
use colony_core::transition::TABLE;
use colony_core::why::Cause;

/// How often each thing was met.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    pub rows: BTreeMap<&'static str, u64>,
    pub codes: BTreeMap<String, u64>,
    pub causes: BTreeMap<&'static str, u64>,
}

impl Coverage {
    pub fn add(&mut self, other: &Coverage) {
        for (key, count) in &other.rows {
            *self.rows.entry(key).or_default() += count;
        }
        for (key, count) in &other.codes {
            *self.codes.entry(key.clone()).or_default() += count;
        }
        for (key, count) in &other.causes {
            *self.causes.entry(key).or_default() += count;
        }
    }

    /// Rows of the transition table no story has taken.
    pub fn rows_missed(&self) -> Vec<&'static str> {
        TABLE.iter().map(|it| it.id).filter(|it| !self.rows.contains_key(it)).collect()
    }

    /// A few lines for people.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let rows: Vec<String> = TABLE
            .iter()
            .map(|it| format!("{} {}", it.id, self.rows.get(it.id).unwrap_or(&0)))
            .collect();
        let _ = writeln!(text, "rows:   {}", rows.join(", "));
        let codes = Code::ALL.iter().map(|it| it.as_str());
        let codes: Vec<String> =
            codes.filter_map(|it| Some(format!("{it} {}", self.codes.get(it)?))).collect();
        let _ = writeln!(text, "codes:  {}", codes.join(", "));
        let causes: Vec<String> = Cause::ALL_NAMES
            .iter()
            .filter_map(|it| Some(format!("{it} {}", self.causes.get(it)?)))
            .collect();
        let _ = write!(text, "causes: {}", causes.join(", "));
        text
    }
}
