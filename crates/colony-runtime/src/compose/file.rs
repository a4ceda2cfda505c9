//! Reads a whole compose file: the sections of the root, then their entries.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::margo::yaml::{self, Cursor, Entry, Value};
use colony_core::margo::{Finding, Findings, Parsed};

use super::archive::{Archive, COMPOSE, flaw};
use super::keys::{self, KeySection};
use super::network::{self, DEFAULT};
use super::project::{Project, Service};
use super::selection::Selection;
use super::{config, cross, engine_limits, extends, policy, service};
use crate::compose::syntax::interpolate::Variables;
use crate::compose::syntax::tree;
use crate::config::{DocumentPolicy, EngineKind};

/// How many things of one kind a file may have.
pub(super) const EACH: usize = 100;

/// The longest name of a service, network, volume or config.
const NAME: usize = 63;

/// What readers below the root may refer to.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) archive: &'a Archive,
    pub(super) parameters: &'a BTreeMap<String, String>,
    pub(super) variables: &'a Variables<'a>,
    /// Findings about other files of the archive.
    pub(super) elsewhere: &'a Findings,
    pub(super) services: Names,
    pub(super) networks: Names,
    pub(super) volumes: Names,
    pub(super) configs: Names,
    pub(super) secrets: Names,
    /// Services without a container, and why.
    pub(super) absent: BTreeMap<String, &'static str>,
}

/// The names under one key of the root.
#[derive(Debug)]
pub(super) struct Names {
    key: &'static str,
    names: BTreeSet<String>,
}

impl Names {
    fn of(root: &Cursor<'_>, key: &'static str) -> Names {
        let names = match root.node().get(key).map(|it| &it.value) {
            Some(Value::Map(entries)) => entries.iter().map(|it| it.0.text.clone()).collect(),
            Some(Value::Null | Value::Scalar { .. } | Value::Seq(_)) | None => BTreeSet::new(),
        };
        Names { key, names }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Reports an unknown name at the position of the reference.
    pub(super) fn expect(&self, place: &Cursor<'_>, name: &str) {
        if !self.has(name) {
            let name: String = name.chars().take(NAME).collect();
            place.error(format!("`{name}` is not there"), format!("a name under `{}`", self.key));
        }
    }
}

pub(super) fn read(
    archive: &Archive,
    parameters: &BTreeMap<String, String>,
    on: Option<(EngineKind, &DocumentPolicy)>,
) -> Result<Parsed<Project>, Vec<Finding>> {
    let (_, bytes) = archive.find(COMPOSE).map_err(|_| {
        vec![flaw(Some(COMPOSE), "is missing", "a compose file in the archive's directory")]
    })?;
    let here = |findings: Vec<Finding>| findings.into_iter().map(|it| it.in_file(COMPOSE));
    let variables = Variables::new(parameters);
    let parsed =
        yaml::parse(bytes, &yaml::Limits::default()).map_err(|it| here(it).collect::<Vec<_>>())?;
    let raw = tree::without_extensions(parsed);
    let (findings, elsewhere) = (Findings::new(), Findings::new());
    let node = tree::resolve(&Cursor::root(&raw, &findings), &variables);
    let node = extends::resolve(&Cursor::root(&node, &findings));
    let root = Cursor::root(&node, &findings);
    let is_mapping = matches!(node.value, Value::Map(_));
    let services = if is_mapping { entries(&root, "services") } else { Vec::new() };
    let selection = Selection::read(&services, parameters);
    if let Some((engine, rules)) = on {
        engine_limits::check(engine, &root);
        policy::check(rules, &root);
    }
    let project = project(&root, &services, &selection, |root| Scope {
        archive,
        parameters,
        variables: &variables,
        elsewhere: &elsewhere,
        services: Names::of(root, "services"),
        networks: Names::of(root, "networks"),
        volumes: Names::of(root, "volumes"),
        configs: Names::of(root, "configs"),
        secrets: Names::of(root, "secrets"),
        absent: selection.absent.clone(),
    });
    elsewhere.extend(here(findings.into_vec()));
    elsewhere.finish(project)
}

fn project<'a>(
    root: &Cursor<'_>,
    services: &[Entry<'_>],
    selection: &Selection,
    scope: impl FnOnce(&Cursor<'_>) -> Scope<'a>,
) -> Option<Project> {
    let Value::Map(_) = &root.node().value else {
        return root.mismatch("a mapping with `services`");
    };
    keys::check(root, KeySection::File);
    unused(root);
    let scope = scope(root);
    if let (true, Some(place)) = (services.is_empty(), root.required("services")) {
        place.error("has no services", "1 to 100 of them");
    }
    let mut project = Project {
        services: each(services, |it| service::read(&it.value, &scope)),
        networks: each(&entries(root, "networks"), |it| network::network(it.key, &it.value)),
        volumes: each(&entries(root, "volumes"), |it| network::volume(it.key, &it.value)),
        configs: each(&entries(root, "configs"), |it| config::config(&it.value, &scope)),
        secrets: each(&entries(root, "secrets"), |it| config::secret(&it.value, &scope)),
    };
    let present = services.iter().filter(|it| is_map(it) && selection.has(it.key));
    let places: BTreeMap<&str, Cursor<'_>> = present.map(|it| (it.key, it.value.clone())).collect();
    if let (true, true, Some(place)) =
        (places.is_empty(), services.iter().any(is_map), root.field("services"))
    {
        place.error(
            "has no service with a container",
            "a service without `profiles`, or the parameter `COMPOSE_PROFILES`",
        );
    }
    project.services.retain(|name, _| selection.has(name));
    if project.services.values().any(|it: &Service| it.networks.contains_key(DEFAULT)) {
        project.networks.entry(DEFAULT.to_owned()).or_default();
    }
    cross::check(&project, &places);
    policy::names_differ(&project, &places);
    selection.multiply(&mut project, &places);
    Some(project)
}

fn unused(root: &Cursor<'_>) {
    for key in ["name", "version"] {
        if let Some(place) = root.field(key) {
            place.string();
            place.warning("has no effect", "the file without it");
        }
    }
}

/// The entries under a key of the root, with their names checked.
fn entries<'a>(root: &Cursor<'a>, key: &str) -> Vec<Entry<'a>> {
    let Some(place) = root.field(key) else { return Vec::new() };
    let entries = place.entries().unwrap_or_default();
    if entries.len() > EACH {
        place.error(format!("has {} entries", entries.len()), format!("at most {EACH}"));
        return Vec::new();
    }
    let part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    for entry in &entries {
        if entry.key.is_empty() || entry.key.len() > NAME || !entry.key.chars().all(part) {
            let expected = format!("1 to {NAME} letters, digits, `.`, `_` and `-`");
            entry.key_error("is not a usable name", expected);
        }
    }
    entries
}

fn each<T>(entries: &[Entry<'_>], read: impl Fn(&Entry<'_>) -> Option<T>) -> BTreeMap<String, T> {
    entries.iter().filter_map(|it| Some((it.key.to_owned(), read(it)?))).collect()
}

fn is_map(entry: &Entry<'_>) -> bool {
    matches!(entry.value.node().value, Value::Map(_))
}
