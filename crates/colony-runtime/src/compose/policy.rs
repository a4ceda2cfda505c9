//! What the operator of a node does not allow in files that are otherwise
//! usable.

use std::collections::BTreeMap;

use colony_core::margo::yaml::{Cursor, Value};

use super::engine_limits::{is, mappings};
use super::project::Project;
use crate::config::DocumentPolicy;

/// The setting for names of containers.
const NAMES: &str = "node.container-names";
/// The setting for networks and volumes that colony does not own.
const EXTERNAL: &str = "node.external-resources";

pub(super) fn check(policy: &DocumentPolicy, root: &Cursor<'_>) {
    if !policy.container_names {
        for service in mappings(root, "services") {
            refuse(
                &service,
                "container_name",
                NAMES,
                "the service's name, by which others reach it",
            );
        }
    }
    if !policy.external_resources {
        for (key, instead) in
            [("networks", "a network of the file"), ("volumes", "a volume of the file")]
        {
            for resource in mappings(root, key) {
                if field(&resource, "external").is_some_and(|it| is(&it, "true")) {
                    refuse(&resource, "external", EXTERNAL, instead);
                }
            }
        }
    }
}

fn refuse(place: &Cursor<'_>, key: &str, setting: &str, instead: &str) {
    if let Some(field) = field(place, key) {
        let problem =
            format!("key is not supported on this node: its setting `{setting}` is `refuse`");
        field.error(problem, format!("{instead}, or a node whose setting is `allow`"));
    }
}

fn field<'a>(place: &Cursor<'a>, key: &str) -> Option<Cursor<'a>> {
    place.node().get(key).filter(|it| !matches!(it.value, Value::Null))?;
    place.field(key)
}

/// Reports services whose containers would have the same name. `places` holds
/// the position of each.
pub(super) fn names_differ(project: &Project, places: &BTreeMap<&str, Cursor<'_>>) {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (service, place) in places {
        let name = project.services.get(*service).and_then(|it| it.container_name.as_deref());
        let (Some(name), Some(place)) = (name, place.field("container_name")) else { continue };
        if let Some(other) = taken.insert(name, service) {
            place.error(format!("`{other}` has the name `{name}` too"), "each name once");
        }
    }
}
