//! Which rows of the transition table, error codes and causes a run met.

use std::collections::BTreeMap;
use std::fmt::Write;

use colony_core::code::Code;
use colony_core::fleet::FleetCause;
use colony_core::transition::TABLE;
use colony_core::why::{Cause, Why};

/// What no story can meet, and why not.
const BEYOND: &[(&str, &str)] = &[
    ("node-shutdown", "no role of ours tells it: a node that stops leaves its attempt open"),
    ("node-retired", "what is on a node leaves the site in the step that retires it"),
    ("rollback-refused", "a way back begins in the step of its verdict: nothing comes in between"),
    ("101", "told by a Margo gateway; all simulated devices are our own"),
    ("102", "told by a Margo gateway; all simulated devices are our own"),
    ("103", "told by a Margo gateway; all simulated devices are our own"),
    ("not-stageable", "all simulated devices are our own"),
];

/// How often each thing was met.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    pub rows: BTreeMap<&'static str, u64>,
    pub codes: BTreeMap<String, u64>,
    pub causes: BTreeMap<&'static str, u64>,
    /// CO's own causes: they have no published names.
    pub central: BTreeMap<String, u64>,
}

impl Coverage {
    pub(crate) fn row(&mut self, id: &'static str) {
        *self.rows.entry(id).or_default() += 1;
    }

    pub(crate) fn code(&mut self, code: &Code) {
        *self.codes.entry(code.to_string()).or_default() += 1;
    }

    /// Counts an answer with all it is made of.
    pub(crate) fn why(&mut self, why: &Why) {
        for cause in std::iter::once(&why.cause).chain(&why.also) {
            *self.causes.entry(cause.name()).or_default() += 1;
        }
    }

    pub(crate) fn central(&mut self, cause: &FleetCause) {
        let text = format!("{cause:?}");
        let name = text.split([' ', '{']).next().unwrap_or_default().to_owned();
        *self.central.entry(name).or_default() += 1;
    }

    pub fn add(&mut self, other: &Coverage) {
        merge(&mut self.rows, &other.rows);
        merge(&mut self.codes, &other.codes);
        merge(&mut self.causes, &other.causes);
        merge(&mut self.central, &other.central);
    }

    /// The published tables with how often each entry was met.
    fn tables(&self) -> [(&'static str, Vec<(&str, u64)>); 3] {
        let count = |map: &BTreeMap<&'static str, u64>, it: &str| map.get(it).copied().unwrap_or(0);
        let rows = TABLE.iter().map(|it| (it.id, count(&self.rows, it.id))).collect();
        let codes = Code::ALL.iter().map(|it| it.as_str());
        let codes = codes.map(|it| (it, self.codes.get(it).copied().unwrap_or(0))).collect();
        let causes = Cause::ALL_NAMES.iter().map(|it| (*it, count(&self.causes, it))).collect();
        [("transition rows", rows), ("error codes", codes), ("causes of why", causes)]
    }

    /// What was never met and should have been.
    pub fn missed(&self) -> Vec<String> {
        let all = self.tables().into_iter().flat_map(|(table, entries)| {
            entries.into_iter().filter(|it| it.1 == 0).map(move |it| (table, it.0))
        });
        let reachable = all.filter(|(_, name)| beyond(name).is_none());
        reachable.map(|(table, name)| format!("{name} ({table})")).collect()
    }

    /// The table for people.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (table, entries) in self.tables() {
            let met = entries.iter().filter(|it| it.1 > 0).count();
            let _ = writeln!(text, "\n{table}: {met} of {} met", entries.len());
            for (name, count) in entries {
                let said = beyond(name).filter(|_| count == 0);
                let said =
                    said.map_or(count.to_string(), |it| format!("not in a simulation: {it}"));
                let _ = writeln!(text, "  {name:<24} {said}");
            }
        }
        let central: Vec<String> = self.central.iter().map(|(k, v)| format!("{k} {v}")).collect();
        let _ = writeln!(text, "\nCO's causes: {}", central.join(", "));
        let missed = self.missed();
        let said = if missed.is_empty() { "nothing".to_owned() } else { missed.join(", ") };
        let _ = write!(text, "never met: {said}");
        text
    }
}

fn beyond(name: &str) -> Option<&'static str> {
    BEYOND.iter().find(|it| it.0 == name).map(|it| it.1)
}

fn merge<K: Ord + Clone>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *into.entry(key.clone()).or_default() += count;
    }
}
