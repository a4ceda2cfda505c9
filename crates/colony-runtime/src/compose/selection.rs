//! Which services of a file get containers, and how many.
//!
//! A service with `profiles` has one if the parameter `COMPOSE_PROFILES` names
//! one of them, as in Compose. A service with `scale` has several: the first is
//! called like the service, the others have a number. To all that follows they
//! are services of their own.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::margo::yaml::{Cursor, Entry, Value};

use super::file::EACH;
use super::project::{Project, Service};
use super::service::limits::either;
use super::syntax::value::{self, take};

/// The parameter that names the profiles.
const PROFILES: &str = "COMPOSE_PROFILES";

/// The most containers of one service.
const MOST: usize = 20;

/// How many containers each service has, and why some have none.
#[derive(Debug, Default)]
pub(super) struct Selection {
    counts: BTreeMap<String, usize>,
    pub(super) absent: BTreeMap<String, &'static str>,
}

impl Selection {
    pub(super) fn read(services: &[Entry<'_>], parameters: &BTreeMap<String, String>) -> Selection {
        let named = parameters.get(PROFILES).map(String::as_str).unwrap_or_default();
        let named: BTreeSet<&str> = named.split(',').map(str::trim).collect();
        let mut selection = Selection::default();
        for entry in services {
            let Value::Map(_) = &entry.value.node().value else { continue };
            let count = count(&entry.value);
            let profiles = take(&entry.value, "profiles", value::texts).unwrap_or_default();
            let chosen = profiles.is_empty()
                || named.contains("*")
                || profiles.iter().any(|it| named.contains(it.as_str()));
            if !chosen {
                selection.absent.insert(entry.key.to_owned(), "has a profile that is not chosen");
            } else if count == 0 {
                selection.absent.insert(entry.key.to_owned(), "has no containers");
            }
            selection.counts.insert(entry.key.to_owned(), count);
        }
        selection
    }

    /// Whether the service has a container.
    pub(super) fn has(&self, service: &str) -> bool {
        !self.absent.contains_key(service)
    }

    /// Makes one service of each further container.
    pub(super) fn multiply(&self, project: &mut Project, places: &BTreeMap<&str, Cursor<'_>>) {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, count) in self.counts.iter().filter(|it| *it.1 > 1) {
            let (Some(service), Some(place)) =
                (project.services.get(name).cloned(), places.get(name.as_str()))
            else {
                continue;
            };
            is_multipliable(&service, place);
            for number in 2..=*count {
                let replica = format!("{name}-{number}");
                if places.contains_key(replica.as_str()) {
                    let problem = format!("needs the name `{replica}`, which a service has");
                    place.error(problem, "another name of one of the two");
                    break;
                }
                project.services.insert(replica.clone(), known_as(name, &service));
                names.entry(name.clone()).or_default().push(replica);
            }
        }
        for service in project.services.values_mut() {
            let more = service.depends_on.clone().into_iter().flat_map(|(name, condition)| {
                let replicas = names.get(&name).cloned().unwrap_or_default();
                replicas.into_iter().map(move |it| (it, condition))
            });
            let more: Vec<_> = more.collect();
            service.depends_on.extend(more);
        }
        if project.services.len() > EACH
            && let Some(place) = places.values().next()
        {
            let problem = format!("is one of {} containers", project.services.len());
            place.error(problem, format!("at most {EACH}"));
        }
    }
}

fn count(service: &Cursor<'_>) -> usize {
    let deploy = service.field("deploy").filter(|it| matches!(it.node().value, Value::Map(_)));
    let number = |it: &Cursor<'_>| {
        let number = it.string()?.parse().ok().filter(|it| *it <= MOST);
        number.or_else(|| it.mismatch(&format!("a number from 0 to {MOST}")))
    };
    either(service, "scale", &deploy, "replicas", number).unwrap_or(1)
}

fn is_multipliable(service: &Service, place: &Cursor<'_>) {
    let at = |key: &str, problem: &str, expected: &str| {
        place.field(key).unwrap_or_else(|| place.clone()).error(problem, expected);
    };
    if service.ports.iter().any(|it| it.host.is_some()) {
        at("ports", "several containers cannot publish one port", "ports of the container alone");
    }
    if service.container_name.is_some() {
        let expected = "the service without a name of its container";
        at("container_name", "several containers cannot have one name", expected);
    }
    let fixed = |it: &super::Attachment| it.ipv4_address.is_some() || it.ipv6_address.is_some();
    if service.networks.values().any(fixed) {
        at("networks", "several containers cannot have one address", "networks without addresses");
    }
}

/// Another container of the service, found by the same name.
fn known_as(name: &str, service: &Service) -> Service {
    let mut service = service.clone();
    for attachment in service.networks.values_mut() {
        attachment.aliases.push(name.to_owned());
    }
    service
}
