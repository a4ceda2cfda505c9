//! The names and labels of colony's objects on the engine.
//!
//! Labels decide, names are for people: a container is found by its labels,
//! which hold all that is needed to watch and to stop it without its archive.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use colony_core::document::Strategy;
use colony_core::margo::{ComponentName, DeploymentId, DeviceId, Digest};

use crate::compose::Port;
use crate::containers::health::check::Check;
use crate::job::Job;

pub(crate) const NODE: &str = "colony.node";
/// The identity of the node, which its name alone does not give; see `scope`.
pub(crate) const IDENTITY: &str = "colony.identity";
pub(crate) const DEPLOYMENT: &str = "colony.deployment";
pub(crate) const COMPONENT: &str = "colony.component";
pub(crate) const FINGERPRINT: &str = "colony.fingerprint";
pub(crate) const SERVICE: &str = "colony.service";
/// `true` for a container beside the active one.
pub(crate) const STAGED: &str = "colony.staged";
/// The digest of the archive a container was made from, in hex.
pub(crate) const ARCHIVE: &str = "colony.archive";
/// The digest of the definition that a network was made from.
pub(crate) const MADE_FROM: &str = "colony.made-from";
/// The wave in which it was started; the last wave is stopped first.
const ORDER: &str = "colony.order";
/// How long it may take to stop, in milliseconds.
const GRACE: &str = "colony.stop-grace";
/// It is created and not started on purpose; see [`StartCondition`].
const WAITS: &str = "colony.waits";
/// The ports of the host that it has, or would have if it were active, as JSON.
const PORTS: &str = "colony.host-ports";
/// How long connections to the version it replaces may last, in milliseconds.
const DRAIN: &str = "colony.drain";
/// The health check the node runs, as JSON.
const HEALTH: &str = "colony.health";

const GRACE_DEFAULT: Duration = Duration::from_secs(10);
/// Engines take longer names, but host names and screens do not.
const NAME_LIMIT: usize = 200;

/// The owner of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) deployment: DeploymentId,
    pub(crate) component: ComponentName,
    pub(crate) fingerprint: Digest,
    pub(crate) staged: bool,
    pub(crate) service: String,
}

impl Owner {
    /// The owner of a service's container.
    pub(crate) fn of(job: &Job, service: &str) -> Owner {
        Owner {
            deployment: job.deployment.clone(),
            component: job.component.clone(),
            fingerprint: job.mark(),
            staged: job.staged,
            service: service.to_owned(),
        }
    }
}

/// The settings needed to watch and to stop a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Care {
    pub(crate) order: usize,
    pub(crate) grace: Duration,
    pub(crate) check: Option<Check>,
    pub(crate) waits: StartCondition,
    /// Ports of the host, also of a staged container, which does not have them
    /// yet.
    pub(crate) ports: Vec<Port>,
    pub(crate) drain: Duration,
}

/// Whether a container was made to be started later, if at all: a staged one
/// that must not run twice, or an active one that is to take over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StartCondition {
    #[default]
    No,
    Turn,
    /// It may be started as soon as the containers it replaces have stopped.
    Swap,
}

impl Owner {
    /// `None` if the labels are not colony's.
    pub(crate) fn read(labels: &BTreeMap<String, String>) -> Option<Owner> {
        Some(Owner {
            deployment: labels.get(DEPLOYMENT)?.parse().ok()?,
            component: labels.get(COMPONENT)?.parse().ok()?,
            fingerprint: labels.get(FINGERPRINT)?.parse().ok()?,
            staged: labels.get(STAGED).is_some_and(|it| it == "true"),
            service: labels.get(SERVICE)?.clone(),
        })
    }

    pub(crate) fn labels(&self, node: &DeviceId, care: &Care) -> HashMap<String, String> {
        let mut labels = HashMap::from([
            (NODE.to_owned(), node.to_string()),
            (DEPLOYMENT.to_owned(), self.deployment.to_string()),
            (COMPONENT.to_owned(), self.component.to_string()),
            (FINGERPRINT.to_owned(), self.fingerprint.to_string()),
            (SERVICE.to_owned(), self.service.clone()),
            (ORDER.to_owned(), care.order.to_string()),
            (GRACE.to_owned(), care.grace.as_millis().to_string()),
        ]);
        if let Some(check) = &care.check {
            labels.insert(HEALTH.to_owned(), check.to_json());
        }
        if !care.ports.is_empty() {
            let ports = serde_json::to_string(&care.ports).unwrap_or_default();
            labels.insert(PORTS.to_owned(), ports);
            labels.insert(DRAIN.to_owned(), care.drain.as_millis().to_string());
        }
        let more = [(STAGED, self.staged.then_some("true")), (WAITS, care.waits.label())];
        let more = more.into_iter().filter_map(|(key, value)| Some((key, value?)));
        labels.extend(more.map(|(key, value)| (key.to_owned(), value.to_owned())));
        labels
    }
}

impl Care {
    pub(crate) fn new(order: usize, grace: Option<Duration>, check: Option<Check>) -> Care {
        Care {
            order,
            grace: grace.unwrap_or(GRACE_DEFAULT),
            check,
            waits: StartCondition::No,
            ports: Vec::new(),
            drain: Strategy::DRAIN,
        }
    }

    pub(crate) fn read(labels: &BTreeMap<String, String>) -> Care {
        let number = |key| labels.get(key).and_then(|it| it.parse::<u64>().ok());
        Care {
            order: number(ORDER).and_then(|it| usize::try_from(it).ok()).unwrap_or_default(),
            grace: number(GRACE).map_or(GRACE_DEFAULT, Duration::from_millis),
            check: labels.get(HEALTH).and_then(|it| Check::from_json(it)),
            waits: labels.get(WAITS).map_or(StartCondition::No, |it| StartCondition::read(it)),
            ports: labels
                .get(PORTS)
                .and_then(|it| serde_json::from_str(it).ok())
                .unwrap_or_default(),
            drain: number(DRAIN).map_or(Strategy::DRAIN, Duration::from_millis),
        }
    }
}

impl StartCondition {
    fn label(self) -> Option<&'static str> {
        match self {
            StartCondition::No => None,
            StartCondition::Turn => Some("turn"),
            StartCondition::Swap => Some("swap"),
        }
    }

    fn read(label: &str) -> StartCondition {
        if label == "swap" { StartCondition::Swap } else { StartCondition::Turn }
    }
}

/// `colony-<node>-<part>-<part>…` in the characters every engine takes.
pub(crate) fn name(node: &DeviceId, parts: &[&str]) -> String {
    let mut name = format!("colony-{node}");
    for part in parts {
        name.push('-');
        name.push_str(part);
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let plain: String = name.chars().map(plain).collect();
    if plain.len() <= NAME_LIMIT {
        return plain;
    }
    let mark = Digest::of(name.as_bytes()).short();
    format!("{}-{mark}", &plain[..NAME_LIMIT - mark.len() - 1])
}

/// The filter for everything of nodes of this name, and of the deployment if
/// one is given.
pub(crate) fn filter(node: &DeviceId, deployment: Option<&DeploymentId>) -> Vec<String> {
    let node = format!("{NODE}={node}");
    let deployment = deployment.map(|it| format!("{DEPLOYMENT}={it}"));
    [Some(node), deployment].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::Protocol;

    #[test]
    fn names_have_characters_and_length_every_engine_takes() {
        check(&["hello", "web", "web"], "colony-n1-hello-web-web");
        check(&["Grüße an alle", "web"], "colony-n1-Gr__e_an_alle-web");
        let long = "x".repeat(300);
        let name = name(&node(), &[&long, "a"]);
        assert_eq!(name.len(), NAME_LIMIT);
        assert_ne!(name, super::name(&node(), &[&long, "b"]));
    }

    #[test]
    fn labels_read_back_as_written() {
        let test = vec!["CMD".to_owned(), "true".to_owned()];
        let check = Some(Check::with_defaults(test));
        for (check, waits, staged) in [
            (None, StartCondition::No, false),
            (check.clone(), StartCondition::Turn, true),
            (check, StartCondition::Swap, false),
        ] {
            let care = Care::new(3, Some(Duration::from_millis(1500)), check);
            let port = Port {
                host_ip: Some("192.0.2.1".to_owned()),
                host: Some(8080),
                container: 80,
                protocol: Protocol::Udp,
            };
            let (ports, drain) = (vec![port], Duration::from_millis(700));
            let care = Care { waits, ports, drain, ..care };
            let owner = Owner { staged, ..owner() };
            let labels: BTreeMap<String, String> =
                owner.labels(&node(), &care).into_iter().collect();
            assert_eq!(labels[NODE], "n1");
            assert_eq!(Owner::read(&labels), Some(owner));
            assert_eq!(Care::read(&labels), care);
        }
    }

    #[test]
    fn foreign_labels_are_nobodys() {
        let mut labels: BTreeMap<String, String> =
            owner().labels(&node(), &Care::new(0, None, None)).into_iter().collect();
        labels.insert(FINGERPRINT.to_owned(), "latest".to_owned());
        assert_eq!(Owner::read(&labels), None);
        assert_eq!(Care::read(&BTreeMap::new()), Care::new(0, None, None));
    }

    #[track_caller]
    fn check(parts: &[&str], expected: &str) {
        assert_eq!(name(&node(), parts), expected);
    }

    fn node() -> DeviceId {
        "n1".parse().unwrap()
    }

    fn owner() -> Owner {
        Owner {
            deployment: DeploymentId::from_bytes([7; 16]),
            component: "web".parse().unwrap(),
            fingerprint: Digest::of(b"web"),
            staged: false,
            service: "front".to_owned(),
        }
    }
}
