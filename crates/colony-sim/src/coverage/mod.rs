//! Which rows of the transition table, error codes, causes and trials a run
//! covered.

mod excuse;

use std::collections::BTreeMap;
use std::fmt::Write;

use colony_core::code::Code;
use colony_core::transition::TABLE;
use colony_core::why::{Cause, Why};

use crate::coverage::excuse::excuse;

/// Names the variants of an enum: a list of all, and an exhaustive match.
macro_rules! kinds {
    ($names:ident, $name:ident, $of:ident { $($kind:ident = $text:literal,)* }) => {
        pub(crate) const $names: &[&str] = &[$($text,)*];

        fn $name(it: &$of) -> &'static str {
            match it {
                $($of::$kind { .. } => $text,)*
            }
        }
    };
}

/// The faults and situations of the simulation that the tables do not list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trial {
    TornLine,
    NodeRefused,
    LocalRefused,
    CentralRefused,
    NodesOff,
    SitesOff,
    SitesCut,
    NodesCut,
    LabelCanary,
    LabelGained,
    LabelLost,
    PlanCompared,
    DeletionCompared,
    VolumesPurged,
}

kinds!(TRIALS, trial_name, Trial {
    TornLine = "torn journal line",
    NodeRefused = "write refused, EN",
    LocalRefused = "write refused, LO",
    CentralRefused = "write refused, CO",
    NodesOff = "month off, nodes",
    SitesOff = "month off, sites",
    SitesCut = "month cut, CO and sites",
    NodesCut = "month cut, site and nodes",
    LabelCanary = "canary chosen by label",
    LabelGained = "label gained under way",
    LabelLost = "label lost under way",
    PlanCompared = "plan compared",
    DeletionCompared = "plan of a deletion compared",
    VolumesPurged = "volumes purged",
});

/// How often each entry was covered.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    rows: BTreeMap<&'static str, u64>,
    codes: BTreeMap<String, u64>,
    causes: BTreeMap<&'static str, u64>,
    trials: BTreeMap<&'static str, u64>,
}

/// One table: its entries, and how often each was covered.
type Table<'a> = (&'static str, Vec<(&'a str, u64)>);

impl Coverage {
    pub(crate) fn row(&mut self, id: &'static str) {
        *self.rows.entry(id).or_default() += 1;
    }

    pub(crate) fn code(&mut self, code: &Code) {
        *self.codes.entry(code.to_string()).or_default() += 1;
    }

    /// Counts all causes of an answer.
    pub(crate) fn why(&mut self, why: &Why) {
        for cause in why.causes() {
            *self.causes.entry(cause.name()).or_default() += 1;
        }
    }

    pub(crate) fn trial(&mut self, trial: Trial) {
        *self.trials.entry(trial_name(&trial)).or_default() += 1;
    }

    pub fn add(&mut self, other: &Coverage) {
        merge(&mut self.rows, &other.rows);
        merge(&mut self.codes, &other.codes);
        merge(&mut self.causes, &other.causes);
        merge(&mut self.trials, &other.trials);
    }

    /// All entries that should be covered, with their counts.
    fn tables(&self) -> [Table<'_>; 4] {
        let count = |map: &BTreeMap<&'static str, u64>, it: &str| map.get(it).copied().unwrap_or(0);
        let rows = TABLE.iter().map(|it| (it.id, count(&self.rows, it.id))).collect();
        let codes = Code::ALL.iter().map(|it| it.as_str());
        let codes = codes.map(|it| (it, self.codes.get(it).copied().unwrap_or(0))).collect();
        let causes = Cause::all_names().map(|it| (it, count(&self.causes, it))).collect();
        let trials = TRIALS.iter().map(|it| (*it, count(&self.trials, it))).collect();
        [
            ("transition rows", rows),
            ("error codes", codes),
            ("causes of why", causes),
            ("trials", trials),
        ]
    }

    /// The entries that were not covered and have no excuse.
    pub fn missed(&self) -> Vec<String> {
        let all = self.tables().into_iter().flat_map(|(table, entries)| {
            entries.into_iter().filter(|it| it.1 == 0).map(move |it| (table, it.0))
        });
        let reachable = all.filter(|(table, name)| excuse(table, name).is_none());
        reachable.map(|(table, name)| format!("{name} ({table})")).collect()
    }

    /// The tables as text.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (table, entries) in self.tables() {
            let met = entries.iter().filter(|it| it.1 > 0).count();
            let _ = writeln!(text, "\n{table}: {met} of {} met", entries.len());
            for (name, count) in entries {
                let said = excuse(table, name).filter(|_| count == 0);
                let said = said.map_or(count.to_string(), |it| it.to_string());
                let _ = writeln!(text, "  {name:<26} {said}");
            }
        }
        let missed = self.missed();
        let said = if missed.is_empty() { "nothing".to_owned() } else { missed.join(", ") };
        let _ = write!(text, "\nnever met: {said}");
        text
    }
}

fn merge<K: Ord + Clone>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *into.entry(key.clone()).or_default() += count;
    }
}
