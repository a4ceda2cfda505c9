//! A change to the settings of a deployment: what a request mentions.
//!
//! It has the keys and values of `spec.x-colony-extensions`, each of them
//! optional, and is put on top of the block of a file. Whether the result makes
//! sense is not decided here: the file is read afterwards as every file is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Deserialize as DeserializeDerive, Serialize, Serializer};
use serde_json::{Map, Value};

use super::Choice;
use super::settings::{OnFailure, Settings};
use super::strategy::{CountOrPercent, Promote, Strategy, StrategyKind, Subset};
use super::text::SettingDuration;

/// Settings to set and to clear; what is left out stays as it is.
///
/// The keys are those of `spec.x-colony-extensions` in the deployment's file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SettingsChange {
    /// In which order the nodes of a site take a revision.
    #[serde(skip_serializing_if = "StrategyChange::is_empty")]
    pub strategy: StrategyChange,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// Labels a node must have; replaces the whole selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<BTreeMap<String, String>>,
    /// On how many nodes of each site it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    #[serde(skip_serializing_if = "RetryChange::is_empty")]
    pub retry: RetryChange,
    /// How long a site waits before it starts a revision that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<SettingDuration>,
    /// How long an attempt may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_deadline: Option<SettingDuration>,
    /// How long a revision must run well to count as proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soak: Option<SettingDuration>,
    /// The channel or range of versions to follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<String>,
    /// Whether nodes remove its images at once when it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove_image: Option<bool>,
    /// Settings that go back to their defaults, before the others are set.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub clear: BTreeSet<SettingName>,
}

/// The `strategy` of a change.
///
/// Without a type it changes the strategy of the file; a strategy of another
/// type replaces it. `canary` or `steps` alone ask for a canary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StrategyChange {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<StrategyKind>,
    /// How many nodes may be down at once: `1`, `25%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<CountOrPercent>,
    /// Of a canary: the nodes that go first, as a count, a percentage or labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<Subset>,
    /// Of a canary: how many nodes have it in the steps between the first and the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<CountOrPercent>>,
    /// Of a canary or blue-green: how long all of a step must stay well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soak: Option<SettingDuration>,
    /// Of a canary or blue-green: what opens the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promote: Option<Promote>,
    /// Of blue-green: how long connections to the version that is replaced may last, at most 10m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<SettingDuration>,
}

/// The `retry` of a change: tries that revision errors may spend on one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, DeserializeDerive)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct RetryChange {
    /// Where there is nothing to go back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installs: Option<u32>,
    /// Where there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates: Option<u32>,
}

impl SettingsChange {
    pub fn is_empty(&self) -> bool {
        *self == SettingsChange::default()
    }

    /// Puts the change on top of `block`, the settings of a file.
    pub fn apply(&self, block: &mut Map<String, Value>) {
        for name in &self.clear {
            name.remove_from(block);
        }
        let mut changed = object(self);
        changed.remove("clear");
        if let Some(kind) = self.strategy.kind_on(block.get("strategy")) {
            let set = changed.remove("strategy").and_then(into_object).unwrap_or_default();
            let base = take(block, "strategy").filter(|it| kind_of(it) == Some(kind));
            let mut strategy = base.unwrap_or_default();
            strategy.extend(set);
            strategy.insert("type".to_owned(), Value::from(kind.name()));
            block.insert("strategy".to_owned(), Value::Object(strategy));
        }
        if let Some(Value::Object(set)) = changed.remove("retry") {
            let mut retry = take(block, "retry").unwrap_or_default();
            retry.extend(set);
            block.insert("retry".to_owned(), Value::Object(retry));
        }
        block.extend(changed);
        block.retain(|_, value| !matches!(value, Value::Object(it) if it.is_empty()));
    }
}

impl StrategyChange {
    pub fn is_empty(&self) -> bool {
        *self == StrategyChange::default()
    }

    /// The kind the file has after the change; `None` if nothing is changed.
    fn kind_on(&self, before: Option<&Value>) -> Option<StrategyKind> {
        if self.is_empty() {
            return None;
        }
        let implied =
            (self.canary.is_some() || self.steps.is_some()).then_some(StrategyKind::Canary);
        let before = before.and_then(Value::as_object).and_then(kind_of);
        self.kind.or(implied).or(before).or(Some(StrategyKind::Rolling))
    }
}

impl RetryChange {
    pub fn is_empty(&self) -> bool {
        *self == RetryChange::default()
    }
}

fn kind_of(strategy: &Map<String, Value>) -> Option<StrategyKind> {
    StrategyKind::named(strategy.get("type")?.as_str()?)
}

/// Takes a mapping out of the block.
fn take(block: &mut Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    block.remove(key).and_then(into_object)
}

/// The fields of a struct, as they are in a file.
fn object(value: &impl Serialize) -> Map<String, Value> {
    serde_json::to_value(value).ok().and_then(into_object).unwrap_or_default()
}

fn into_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// A setting that can be cleared: `selector`, `strategy`, `strategy.soak`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingName {
    key: &'static str,
    below: Option<&'static str>,
}

impl SettingName {
    /// Every setting that can be cleared.
    pub fn all() -> impl Iterator<Item = SettingName> {
        Settings::KEYS.iter().flat_map(|key| {
            let below = match *key {
                "strategy" => Strategy::KEYS,
                "retry" => Settings::RETRY_KEYS,
                _ => &[],
            };
            // A strategy cannot lack a type, so `type` cannot be cleared.
            let below = below.iter().filter(|it| **it != "type").map(|it| Some(*it));
            std::iter::once(None).chain(below).map(|below| SettingName { key, below })
        })
    }

    fn remove_from(self, block: &mut Map<String, Value>) {
        match self.below {
            None => drop(block.remove(self.key)),
            Some(below) => {
                if let Some(Value::Object(inner)) = block.get_mut(self.key) {
                    inner.remove(below);
                }
            }
        }
    }
}

impl FromStr for SettingName {
    type Err = String;

    fn from_str(text: &str) -> Result<SettingName, String> {
        let unknown = || {
            let names: Vec<String> = SettingName::all().map(|it| it.to_string()).collect();
            format!("expected one of {}", names.join(", "))
        };
        SettingName::all().find(|it| it.to_string() == text).ok_or_else(unknown)
    }
}

impl fmt::Display for SettingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.below {
            None => f.write_str(self.key),
            Some(below) => write!(f, "{}.{below}", self.key),
        }
    }
}

impl Serialize for SettingName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SettingName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SettingName, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_leaves_what_it_does_not_mention() {
        let file = json!({"replicas": 3, "selector": {"line": "1"}, "follow": "stable"});
        check(
            &file,
            json!({"replicas": 2}),
            json!({"replicas": 2, "selector": {"line": "1"}, "follow": "stable"}),
        );
        check(
            &file,
            json!({"selector": {"hall": "2"}}),
            json!({"replicas": 3, "selector": {"hall": "2"}, "follow": "stable"}),
        );
        check(&file, json!({}), file.clone());
    }

    #[test]
    fn settings_can_be_cleared() {
        let file = json!({"replicas": 3, "selector": {"line": "1"},
            "strategy": {"type": "canary", "soak": "5m"}, "retry": {"installs": 2}});
        check(&file, json!({"clear": ["selector", "replicas", "strategy", "retry"]}), json!({}));
        check(
            &file,
            json!({"clear": ["strategy.soak", "retry.installs", "selector"], "replicas": 1}),
            json!({"replicas": 1, "strategy": {"type": "canary"}}),
        );
        check(
            &file,
            json!({"clear": ["retry", "selector", "replicas"], "strategy": {"type": "all-at-once"}}),
            json!({"strategy": {"type": "all-at-once"}}),
        );
        check(&json!({"selector": {"line": "1"}}), json!({"selector": {}}), json!({}));
        check(&json!({}), json!({"clear": ["selector", "strategy.soak"]}), json!({}));
    }

    #[test]
    fn a_strategy_is_changed_in_place_or_replaced_by_another_type() {
        let canary = json!({"strategy": {"type": "canary", "canary": "20%", "soak": "5m"}});
        check(
            &canary,
            json!({"strategy": {"soak": "2m"}}),
            json!({"strategy": {"type": "canary", "canary": "20%", "soak": "2m"}}),
        );
        check(
            &canary,
            json!({"strategy": {"maxUnavailable": 2}}),
            json!({"strategy": {"type": "canary", "canary": "20%", "soak": "5m", "maxUnavailable": 2}}),
        );
        check(
            &canary,
            json!({"strategy": {"type": "blue-green"}}),
            json!({"strategy": {"type": "blue-green"}}),
        );
        check(
            &json!({}),
            json!({"strategy": {"canary": {"line": "press"}, "steps": [2, "50%"]}}),
            json!({"strategy": {"type": "canary", "canary": {"line": "press"}, "steps": [2, "50%"]}}),
        );
        check(
            &json!({}),
            json!({"strategy": {"maxUnavailable": "25%"}}),
            json!({"strategy": {"type": "rolling", "maxUnavailable": "25%"}}),
        );
        // Refused when the file is read: a rolling update has no soak.
        check(
            &json!({}),
            json!({"strategy": {"soak": "5m"}}),
            json!({"strategy": {"type": "rolling", "soak": "5m"}}),
        );
    }

    #[test]
    fn tries_are_changed_one_by_one() {
        check(
            &json!({"retry": {"installs": 2}}),
            json!({"retry": {"updates": 4}}),
            json!({"retry": {"installs": 2, "updates": 4}}),
        );
    }

    #[test]
    fn unknown_settings_and_values_are_refused() {
        refused(json!({"sook": "5m"}), "unknown field `sook`");
        refused(json!({"strategy": {"waves": 3}}), "unknown field `waves`");
        refused(json!({"strategy": {"soak": "5x"}}), "`5x`: expected a duration such as `30s`");
        refused(json!({"onFailure": "panic"}), "unknown variant `panic`");
        refused(
            json!({"clear": ["selektor"]}),
            "expected one of strategy, strategy.maxUnavailable",
        );
        refused(json!({"clear": ["strategy.type"]}), "expected one of strategy");
    }

    #[track_caller]
    fn check(file: &Value, change: Value, expected: Value) {
        let change: SettingsChange = serde_json::from_value(change).expect("a change");
        let mut block = file.as_object().expect("a block").clone();
        change.apply(&mut block);
        assert_eq!(Value::Object(block), expected);
    }

    #[track_caller]
    fn refused(change: Value, expected: &str) {
        let error = serde_json::from_value::<SettingsChange>(change).expect_err("refused");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
