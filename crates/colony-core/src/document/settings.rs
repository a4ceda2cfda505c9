//! colony's own settings of a deployment: `spec.x-colony-extensions`.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_margo::yaml::Cursor;

use super::Choice;
use super::choice::choice;
use super::strategy::{CountOrPercent, Strategy};
use super::text::SettingDuration;
use crate::time::Timestamp;

/// How a deployment is rolled out and what a failure does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub strategy: Strategy,
    pub on_failure: OnFailure,
    /// Labels a node must have, with these values.
    pub selector: BTreeMap<String, String>,
    /// How many nodes; every match if absent.
    pub replicas: Option<u32>,
    /// Tries an install may spend on revision errors.
    pub install_tries: u32,
    pub update_tries: u32,
    /// How long a site waits before it starts a revision that it accepted.
    pub delay: Duration,
    /// How long an attempt may take.
    pub progress_deadline: Duration,
    /// How long a revision must stay healthy to count as proven.
    pub soak: Duration,
    /// The channel or range of versions that central follows; unused at the
    /// site.
    pub follow: Option<String>,
    /// Nodes do not keep its images after it was deleted.
    pub remove_image: bool,
}

choice! {
    /// What happens when the tries of a revision are spent.
    pub enum OnFailure {
        /// Everything stays as it is and waits for an operator
        Stop = "stop",
        /// Nodes that failed go back
        RollbackNode = "rollback-node",
        /// The whole site goes back, and refuses the version until it is released
        RollbackSite = "rollback-site",
    }
}

impl Settings {
    /// When the delay of a revision accepted at `since` ends; `None` if it is
    /// over. If the clock was set back by more than the delay, the delay ends
    /// at once: it must not last longer than twice the configured time.
    pub fn delayed_until(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let until = since.after(self.delay);
        (until > now && until <= now.after(self.delay * 2)).then_some(until)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            strategy: Strategy::Rolling { max_unavailable: CountOrPercent::Count(1) },
            on_failure: OnFailure::RollbackSite,
            selector: BTreeMap::new(),
            replicas: None,
            install_tries: 3,
            update_tries: 1,
            delay: Duration::ZERO,
            progress_deadline: Duration::from_secs(600),
            soak: Duration::from_secs(60),
            follow: None,
            remove_image: false,
        }
    }
}

impl Settings {
    /// The keys of the block, as `docs/deployment-settings.md` lists them.
    pub const KEYS: &[&str] = &[
        "strategy",
        "onFailure",
        "selector",
        "replicas",
        "retry",
        "delay",
        "progressDeadline",
        "soak",
        "follow",
        "removeImage",
    ];
    /// The keys below `strategy`.
    pub const STRATEGY_KEYS: &[&str] = Strategy::KEYS;
    /// The keys below `retry`.
    pub const RETRY_KEYS: &[&str] = &["installs", "updates"];
    /// The maximum of `replicas`.
    pub const MOST_REPLICAS: u32 = 100_000;
    /// The maximum of the tries in `retry`.
    pub const MOST_TRIES: u32 = 100;

    /// Reads the block; adds a finding for everything that is wrong with it.
    pub(super) fn read(own: &Cursor<'_>) -> Option<Settings> {
        own.refuse_unknown_keys(Settings::KEYS);
        let default = Settings::default();
        let retry = own.field("retry");
        let tries = |key: &str, default| optional(retry.as_ref(), key, default, read_tries);
        let own = Some(own);
        let strategy = optional(own, "strategy", default.strategy, super::strategy::read);
        let on_failure = optional(own, "onFailure", default.on_failure, read_choice);
        let selector = optional(own, "selector", default.selector, read_selector);
        let most = Settings::MOST_REPLICAS;
        let replicas = optional(own, "replicas", None, |it| read_count(it, most).map(Some));
        let install_tries = tries("installs", default.install_tries);
        let update_tries = tries("updates", default.update_tries);
        let delay = optional(own, "delay", default.delay, read_duration);
        let progress_deadline =
            optional(own, "progressDeadline", default.progress_deadline, read_deadline);
        let soak = optional(own, "soak", default.soak, read_duration);
        let follow = optional(own, "follow", None, |it| it.some_string().map(Some));
        let remove_image = optional(own, "removeImage", default.remove_image, Cursor::bool);
        if let Some(retry) = retry {
            retry.refuse_unknown_keys(Settings::RETRY_KEYS);
        }
        Some(Settings {
            strategy: strategy?,
            on_failure: on_failure?,
            selector: selector?,
            replicas: replicas?,
            install_tries: install_tries?,
            update_tries: update_tries?,
            delay: delay?,
            progress_deadline: progress_deadline?,
            soak: soak?,
            follow: follow?,
            remove_image: remove_image?,
        })
    }
}

/// The default if the key is absent; `None` if it is there and wrong.
pub(super) fn optional<'a, T>(
    parent: Option<&Cursor<'a>>,
    key: &str,
    default: T,
    read: impl Fn(&Cursor<'a>) -> Option<T>,
) -> Option<T> {
    parent.and_then(|it| it.field(key)).map_or(Some(default), |it| read(&it))
}

/// One of the names of a setting.
pub(super) fn read_choice<T: Choice>(place: &Cursor<'_>) -> Option<T> {
    T::named(place.one_of(T::NAMES)?)
}

pub(super) fn read_selector(place: &Cursor<'_>) -> Option<BTreeMap<String, String>> {
    let read = |it: &colony_margo::yaml::Entry<'_>| Some((it.key.to_owned(), it.value.string()?));
    let entries: Vec<Option<(String, String)>> = place.entries()?.iter().map(read).collect();
    entries.into_iter().collect()
}

fn read_tries(place: &Cursor<'_>) -> Option<u32> {
    read_count(place, Settings::MOST_TRIES)
}

fn read_count(place: &Cursor<'_>, limit: u32) -> Option<u32> {
    let count = place.unsigned()?;
    let fits = u32::try_from(count).ok().filter(|it| (1..=limit).contains(it));
    fits.or_else(|| place.mismatch(&format!("a number from 1 to {limit}")))
}

pub(super) fn read_duration(place: &Cursor<'_>) -> Option<Duration> {
    let duration = place.duration()?;
    if duration > SettingDuration::LONGEST {
        return place.out_of_range("at most 168h");
    }
    Some(duration)
}

/// With a deadline of zero, no attempt could succeed.
fn read_deadline(place: &Cursor<'_>) -> Option<Duration> {
    let duration = read_duration(place)?;
    if duration.is_zero() {
        return place.out_of_range("at least 1s");
    }
    Some(duration)
}
