//! In which order the nodes of a site take a revision: `strategy`.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_margo::yaml::{Cursor, Value};

use super::Choice;
use super::choice::choice;
use super::settings::{Settings, optional, read_choice, read_duration, read_selector};
use super::text;

/// In which order the nodes of a site take a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    Rolling { max_unavailable: CountOrPercent },
    AllAtOnce,
    Canary(Canary),
    BlueGreen(BlueGreen),
}

/// A few nodes first, then more, then the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    pub first: Subset,
    /// How many nodes have it in the steps between the first and the last.
    pub steps: Vec<CountOrPercent>,
    pub gate: Gate,
    pub max_unavailable: CountOrPercent,
}

/// Staged beside the active version on all nodes, then taking over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlueGreen {
    pub gate: Gate,
    /// Any number if absent.
    pub max_unavailable: Option<CountOrPercent>,
    /// How long connections to the version that is replaced may last.
    pub drain: Duration,
}

/// What opens the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// How long all nodes of a step must stay well.
    pub soak: Duration,
    pub promote: Promote,
}

choice! {
    /// What opens the next step of a rollout.
    pub enum Promote {
        /// The next step opens by itself
        Auto = "auto",
        /// An operator opens it with `colony deployment promote`
        Manual = "manual",
    }
}

choice! {
    /// The kinds of strategies.
    pub enum StrategyKind {
        /// A few nodes at a time; the first failure stops the rest
        Rolling = "rolling",
        /// Any number of nodes at a time
        AllAtOnce = "all-at-once",
        /// A few nodes first, then the rest
        Canary = "canary",
        /// Beside the old version everywhere, then in its place
        BlueGreen = "blue-green",
    }
}

/// Which nodes go first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subset {
    Share(CountOrPercent),
    /// The nodes with these labels.
    Labels(BTreeMap<String, String>),
}

/// A number of nodes, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountOrPercent {
    Count(u32),
    Percent(u32),
}

impl Strategy {
    /// The keys below `strategy`, as `docs/deployment-settings.md` lists them.
    pub const KEYS: &[&str] =
        &["type", "maxUnavailable", "canary", "steps", "soak", "promote", "drain"];
    /// How many steps a canary may have between its first nodes and all.
    pub const MOST_STEPS: usize = 20;
    /// The default of `drain`.
    pub const DRAIN: Duration = Duration::from_secs(10);
    /// The maximum of `drain`: no other action on the deployment begins before
    /// it is over.
    pub const LONGEST_DRAIN: Duration = Duration::from_secs(600);
}

impl StrategyKind {
    /// The keys that mean something for this kind, besides `type`.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            StrategyKind::Rolling => &["maxUnavailable"],
            StrategyKind::AllAtOnce => &[],
            StrategyKind::Canary => &["maxUnavailable", "canary", "steps", "soak", "promote"],
            StrategyKind::BlueGreen => &["maxUnavailable", "soak", "promote", "drain"],
        }
    }
}

impl CountOrPercent {
    /// The largest count a setting may name.
    pub const MOST: u32 = 100_000;

    /// How many of `total` nodes; at least one, or nothing would ever move.
    pub fn of(self, total: usize) -> u32 {
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let count = match self {
            CountOrPercent::Count(count) => u64::from(count),
            CountOrPercent::Percent(percent) => total.saturating_mul(u64::from(percent)) / 100,
        };
        u32::try_from(count.max(1)).unwrap_or(u32::MAX)
    }
}

pub(super) fn read(place: &Cursor<'_>) -> Option<Strategy> {
    place.refuse_unknown_keys(Settings::STRATEGY_KEYS);
    let kind: StrategyKind = read_choice(&place.required("type")?)?;
    refuse_foreign_keys(place, kind);
    let one = CountOrPercent::Count(1);
    match kind {
        StrategyKind::AllAtOnce => Some(Strategy::AllAtOnce),
        StrategyKind::Canary => read_canary(place).map(Strategy::Canary),
        StrategyKind::BlueGreen => {
            let gate = read_gate(place);
            let limit =
                optional(Some(place), "maxUnavailable", None, |it| read_share(it).map(Some));
            let drain = optional(Some(place), "drain", Strategy::DRAIN, read_drain);
            let (gate, max_unavailable, drain) = (gate?, limit?, drain?);
            Some(Strategy::BlueGreen(BlueGreen { gate, max_unavailable, drain }))
        }
        StrategyKind::Rolling => {
            let limit = optional(Some(place), "maxUnavailable", one, read_share);
            Some(Strategy::Rolling { max_unavailable: limit? })
        }
    }
}

/// A key that means nothing for this kind of rollout is a mistake.
fn refuse_foreign_keys(place: &Cursor<'_>, kind: StrategyKind) {
    for key in Strategy::KEYS.iter().filter(|it| **it != "type" && !kind.keys().contains(it)) {
        if let Some(found) = place.field(key) {
            let fitting = StrategyKind::ALL.iter().filter(|it| it.keys().contains(key));
            let fitting: Vec<String> = fitting.map(|it| format!("`{it}`")).collect();
            let expected = format!("no `{key}`, or type {}", fitting.join(" or "));
            found.error(format!("has no meaning for {kind}"), expected);
        }
    }
}

fn read_canary(place: &Cursor<'_>) -> Option<Canary> {
    let own = Some(place);
    let one = CountOrPercent::Count(1);
    let first = optional(own, "canary", Subset::Share(one), read_subset);
    let steps = optional(own, "steps", Vec::new(), read_steps);
    let gate = read_gate(place);
    let limit = optional(own, "maxUnavailable", one, read_share);
    Some(Canary { first: first?, steps: steps?, gate: gate?, max_unavailable: limit? })
}

fn read_gate(place: &Cursor<'_>) -> Option<Gate> {
    let soak = optional(Some(place), "soak", Duration::from_secs(60), read_duration);
    let promote = optional(Some(place), "promote", Promote::Auto, read_choice);
    Some(Gate { soak: soak?, promote: promote? })
}

fn read_drain(place: &Cursor<'_>) -> Option<Duration> {
    let drain = read_duration(place)?;
    if drain > Strategy::LONGEST_DRAIN {
        return place.out_of_range("at most 10m");
    }
    Some(drain)
}

/// A number, a share, or labels.
fn read_subset(place: &Cursor<'_>) -> Option<Subset> {
    if !matches!(place.node().value, Value::Map(_)) {
        return read_share(place).map(Subset::Share);
    }
    let labels = read_selector(place)?;
    if labels.is_empty() {
        return place.mismatch("at least one label");
    }
    Some(Subset::Labels(labels))
}

fn read_steps(place: &Cursor<'_>) -> Option<Vec<CountOrPercent>> {
    let items = place.items()?;
    if items.len() > Strategy::MOST_STEPS {
        return place.mismatch(&format!("at most {} steps", Strategy::MOST_STEPS));
    }
    let steps: Vec<Option<CountOrPercent>> = items.iter().map(read_share).collect();
    steps.into_iter().collect()
}

fn read_share(place: &Cursor<'_>) -> Option<CountOrPercent> {
    let share = place.string()?.parse().ok();
    share.or_else(|| place.mismatch(text::SHARE))
}
