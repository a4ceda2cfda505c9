//! The settings of a deployment as flags of `colony deploy`.
//!
//! The values are the types of `colony_core::document`: what a flag accepts is
//! what a file in Git and a request accept.

use std::collections::BTreeMap;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use colony_core::document::{
    Choice, CountOrPercent, OnFailure, Promote, RetryChange, SettingDuration, SettingName,
    Settings, SettingsChange, StrategyChange, StrategyKind, Subset,
};

use crate::cli::reference::Setting;

/// How a deployment is rolled out; what is not given stays as it is.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings, which stay until they are changed or cleared")]
pub(crate) struct SettingArgs {
    /// Only nodes with these labels [default: every node that fits]
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE,…", value_parser = selector)]
    pub(crate) selector: Vec<Setting>,
    /// On so many nodes of each site [default: every node that matches]
    #[arg(long, value_name = "N", value_parser = up_to(Settings::MOST_REPLICAS))]
    pub(crate) replicas: Option<u32>,
    /// In which order the nodes of a site change [default: rolling]
    #[arg(long, value_name = "TYPE", value_parser = one_of::<StrategyKind>())]
    pub(crate) strategy: Option<StrategyKind>,
    /// How many nodes of a site may be down at once: 1, 25% [default: 1]
    #[arg(long, value_name = "N|N%")]
    pub(crate) max_unavailable: Option<CountOrPercent>,
    /// Of a canary, the nodes that go first: 1, 20%, line=press [default: 1]
    #[arg(long, value_name = "N|N%|KEY=VALUE,…")]
    pub(crate) canary: Option<Subset>,
    /// Of a canary, how many nodes have it in the steps after the first: 2,50%
    #[arg(long, value_delimiter = ',', value_name = "N|N%,…")]
    pub(crate) steps: Vec<CountOrPercent>,
    /// Of a canary or blue-green, how long a step must stay well: 5m [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) soak: Option<SettingDuration>,
    /// Of a canary or blue-green, what opens the next step [default: auto]
    #[arg(long, value_parser = one_of::<Promote>())]
    pub(crate) promote: Option<Promote>,
    /// Of blue-green, how long connections to the old version may last [default: 10s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) drain: Option<SettingDuration>,
    /// What a failed version does [default: rollback-site]
    #[arg(long, value_parser = one_of::<OnFailure>())]
    pub(crate) on_failure: Option<OnFailure>,
    /// Tries on a node where nothing ran before [default: 3]
    #[arg(long, value_name = "N", value_parser = up_to(Settings::MOST_TRIES))]
    pub(crate) retry_installs: Option<u32>,
    /// Tries on a node that has a version to go back to [default: 1]
    #[arg(long, value_name = "N", value_parser = up_to(Settings::MOST_TRIES))]
    pub(crate) retry_updates: Option<u32>,
    /// How long each site waits before it starts the version: 24h [default: 0s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) delay: Option<SettingDuration>,
    /// How long an attempt may take before it counts as failed: 15m [default: 10m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) progress_deadline: Option<SettingDuration>,
    /// How long a version must run well to count as proven: 5m [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) proven_after: Option<SettingDuration>,
    /// A channel or range of versions; kept in the file, nothing acts on it yet
    #[arg(long, value_name = "TEXT")]
    pub(crate) follow: Option<String>,
    /// Whether nodes remove its images at once when it is deleted [default: false]
    #[arg(long, value_name = "true|false")]
    pub(crate) remove_image: Option<bool>,
    /// Settings that go back to their defaults: selector, replicas, strategy.soak
    ///
    /// The names are those of the file in Git, by comma. They are cleared before
    /// other flags are applied.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) clear: Vec<SettingName>,
}

impl SettingArgs {
    pub(crate) fn change(&self) -> SettingsChange {
        let labels = self.selector.iter().map(|it| (it.key.clone(), it.value.clone()));
        let labels: BTreeMap<String, String> = labels.collect();
        SettingsChange {
            strategy: StrategyChange {
                kind: self.strategy,
                max_unavailable: self.max_unavailable,
                canary: self.canary.clone(),
                steps: (!self.steps.is_empty()).then(|| self.steps.clone()),
                soak: self.soak,
                promote: self.promote,
                drain: self.drain,
            },
            on_failure: self.on_failure,
            selector: (!labels.is_empty()).then_some(labels),
            replicas: self.replicas,
            retry: RetryChange { installs: self.retry_installs, updates: self.retry_updates },
            delay: self.delay,
            progress_deadline: self.progress_deadline,
            soak: self.proven_after,
            follow: self.follow.clone(),
            remove_image: self.remove_image,
            clear: self.clear.iter().copied().collect(),
        }
    }
}

/// One of the names of a setting, each with its meaning.
fn one_of<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |it: &T| PossibleValue::new(it.name()).help(it.meaning());
    let names = PossibleValuesParser::new(T::ALL.iter().map(value));
    names.try_map(|it| T::named(&it).ok_or("the name is not known"))
}

fn up_to(most: u32) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(most))
}

/// A label; nothing at all is how many people try to clear it.
fn selector(text: &str) -> Result<Setting, String> {
    if text.is_empty() {
        return Err("expected KEY=VALUE; --clear selector removes it".to_owned());
    }
    text.parse()
}
