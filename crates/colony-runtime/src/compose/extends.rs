//! `extends` inside a file: a service takes the values of another one.
//!
//! Works on the tree, before it is read, so that every finding keeps the place
//! of the value it is about. Merges as Compose does: mappings by key, lists one
//! after the other, commands and other values by replacement.

use std::collections::BTreeMap;

use colony_core::margo::yaml::{self, Cursor, Key, Node, Style, Value};

use super::keys::{self, KeySection};
use crate::compose::syntax::value;

const EXTENDS: &str = "extends";

/// The file with all services complete.
pub(super) fn resolve(root: &Cursor<'_>) -> Node {
    let mut node = root.node().clone();
    let Some(services) = root.node().get("services") else { return node };
    let Value::Map(entries) = &services.value else { return node };
    if entries.iter().all(|it| it.1.get(EXTENDS).is_none()) {
        return node;
    }
    let places = root.field("services").and_then(|it| it.entries()).unwrap_or_default();
    let places = places.into_iter().map(|it| (it.key, it.value)).collect();
    let mut reader = Reader { places, done: BTreeMap::new(), size: 0 };
    for (name, _) in entries {
        reader.complete(&name.text, &mut Vec::new());
    }
    let Value::Map(sections) = &mut node.value else { return node };
    let services = sections.iter_mut().filter(|it| it.0.text == "services");
    for (_, section) in services {
        let Value::Map(entries) = &mut section.value else { continue };
        for (name, service) in entries {
            if let Some(complete) = reader.done.remove(&name.text) {
                *service = complete;
            }
        }
    }
    node
}

struct Reader<'a> {
    places: BTreeMap<&'a str, Cursor<'a>>,
    done: BTreeMap<String, Node>,
    /// Nodes of all complete services. Each may repeat a large one.
    size: usize,
}

impl Reader<'_> {
    /// The complete service; `None` if it cannot be, which is reported.
    fn complete(&mut self, name: &str, way: &mut Vec<String>) -> Option<Node> {
        if let Some(done) = self.done.get(name) {
            return Some(done.clone());
        }
        let place = self.places.get(name)?.clone();
        let own = without_extends(place.node());
        let complete = match base(&place) {
            None => own,
            Some((at, _)) if way.iter().any(|it| it == name) => {
                at.error(format!("`{name}` extends itself"), "a service that does not");
                own
            }
            Some((at, base)) if !self.places.contains_key(base.as_str()) => {
                at.error("names a service that is not there", "a name under `services`");
                own
            }
            Some((at, base)) => {
                way.push(name.to_owned());
                let base = self.complete(&base, way);
                way.pop();
                let merged = base.map_or(own.clone(), |it| merge(Rule::Service, it, own));
                self.size += size(&merged);
                if self.size > yaml::Limits::default().nodes {
                    at.error("makes the file too large", "fewer or smaller services");
                    return None;
                }
                merged
            }
        };
        self.done.insert(name.to_owned(), complete.clone());
        Some(complete)
    }
}

/// The service that is extended, and the place that names it.
fn base<'a>(service: &Cursor<'a>) -> Option<(Cursor<'a>, String)> {
    service.node().get(EXTENDS)?;
    let place = service.field(EXTENDS)?;
    match &place.node().value {
        Value::Map(_) => {
            keys::check(&place, KeySection::Extends);
            let name = place.required("service")?;
            let text = value::text(&name)?;
            Some((name, text))
        }
        Value::Null | Value::Scalar { .. } | Value::Seq(_) => {
            let text = value::text(&place)?;
            Some((place, text))
        }
    }
}

fn without_extends(node: &Node) -> Node {
    let mut node = node.clone();
    if let Value::Map(entries) = &mut node.value {
        entries.retain(|it| it.0.text != EXTENDS);
    }
    node
}

fn size(node: &Node) -> usize {
    match &node.value {
        Value::Null | Value::Scalar { .. } => 1,
        Value::Seq(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|it| size(&it.1)).sum::<usize>(),
    }
}

/// How the values of one key are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Service,
    /// A mapping, or a list of `name=value`.
    Pairs,
    /// A mapping, or a list of names.
    Names,
    /// A value, or a list.
    List,
    /// A list of which each has a target of its own.
    Targets,
    /// Options belong to the driver beside them.
    Logging,
    Healthcheck,
    Replace,
    Other,
}

fn rule(of: Rule, key: &str) -> Rule {
    match (of, key) {
        (Rule::Service, "command" | "entrypoint") | (Rule::Healthcheck, "test") => Rule::Replace,
        (Rule::Service, "environment" | "labels" | "sysctls" | "storage_opt") => Rule::Pairs,
        (Rule::Service, "depends_on" | "networks") => Rule::Names,
        (Rule::Service, "dns" | "dns_search" | "env_file" | "tmpfs" | "extra_hosts") => Rule::List,
        (Rule::Service, "volumes" | "devices" | "configs" | "secrets") => Rule::Targets,
        (Rule::Service, "logging") => Rule::Logging,
        (Rule::Service, "healthcheck") => Rule::Healthcheck,
        _ => Rule::Other,
    }
}

fn merge(how: Rule, base: Node, own: Node) -> Node {
    let (line, column) = (own.line, own.column);
    let at = |value| Node { line, column, value };
    match (how, base.value, own.value) {
        (_, value, Value::Null) => Node { value, ..base },
        (Rule::Replace, _, value) => at(value),
        (Rule::Pairs, old, new) => at(maps(how, pairs(old), pairs(new))),
        (Rule::Names, old, new) => at(maps(how, names(old), names(new))),
        (Rule::List, old, new) => {
            at(Value::Seq(distinct(list(base.line, base.column, old), list(line, column, new))))
        }
        (Rule::Targets, Value::Seq(old), Value::Seq(new)) => at(Value::Seq(by_target(old, new))),
        (Rule::Logging, old, new) if !same_driver(&old, &new) => at(new),
        (_, Value::Seq(old), Value::Seq(new)) => at(Value::Seq(distinct(old, new))),
        (_, old @ Value::Map(_), new @ Value::Map(_)) => at(maps(how, old, new)),
        (_, _, new) => at(new),
    }
}

fn maps(how: Rule, base: Value, own: Value) -> Value {
    match (base, own) {
        (Value::Map(mut all), Value::Map(own)) => {
            for (key, node) in own {
                match all.iter().position(|it| it.0.text == key.text) {
                    Some(index) if how == Rule::Pairs => all[index] = (key, node),
                    Some(index) => {
                        let (_, old) = all.remove(index);
                        let merged = merge(rule(how, &key.text), old, node);
                        all.insert(index, (key, merged));
                    }
                    None => all.push((key, node)),
                }
            }
            Value::Map(all)
        }
        // One of them cannot be read, which its reader reports.
        (base, own) => {
            if matches!(own, Value::Map(_)) {
                base
            } else {
                own
            }
        }
    }
}

/// A list of `name=value` as a mapping.
fn pairs(value: Value) -> Value {
    entries(value, |text, node| match text.split_once('=') {
        Some((name, value)) => {
            let value = Value::Scalar { text: value.to_owned(), style: Style::Quoted };
            (name.to_owned(), Node { value, ..*node })
        }
        None => (text.to_owned(), Node { value: Value::Null, ..*node }),
    })
}

/// A list of names as a mapping. A dependency has its usual condition.
fn names(value: Value) -> Value {
    entries(value, |text, node| (text.to_owned(), Node { value: Value::Null, ..*node }))
}

fn entries(value: Value, entry: impl Fn(&str, &Node) -> (String, Node)) -> Value {
    let Value::Seq(items) = &value else { return value };
    let mut all: Vec<(Key, Node)> = Vec::new();
    for item in items {
        let Value::Scalar { text, .. } = &item.value else { return value };
        let (text, node) = entry(text, item);
        all.retain(|it| it.0.text != text);
        all.push((Key { text, line: item.line, column: item.column }, node));
    }
    Value::Map(all)
}

/// The items of a list; a value alone is a list of one.
fn list(line: u32, column: u32, value: Value) -> Vec<Node> {
    match value {
        Value::Seq(items) => items,
        Value::Map(entries) => {
            let pair = |(key, node): (Key, Node)| match node.value {
                Value::Scalar { text, style } => {
                    let text = format!("{}={text}", key.text);
                    Node { value: Value::Scalar { text, style }, ..node }
                }
                Value::Null | Value::Seq(_) | Value::Map(_) => node,
            };
            entries.into_iter().map(pair).collect()
        }
        value @ (Value::Null | Value::Scalar { .. }) => vec![Node { line, column, value }],
    }
}

/// All items, each scalar once.
fn distinct(base: Vec<Node>, own: Vec<Node>) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    for item in base.into_iter().chain(own) {
        let same = |it: &Node| match (scalar(it), scalar(&item)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        };
        if !all.iter().any(same) {
            all.push(item);
        }
    }
    all
}

/// The own item of a target replaces that of the base.
fn by_target(base: Vec<Node>, own: Vec<Node>) -> Vec<Node> {
    let mut all = base;
    for item in own {
        let target = target(&item);
        match all.iter().position(|it| target.is_some() && self::target(it) == target) {
            Some(index) => all[index] = item,
            None => all.push(item),
        }
    }
    all
}

fn target(item: &Node) -> Option<String> {
    let text = match &item.value {
        Value::Scalar { text, .. } => text.split(':').nth(1).unwrap_or(text),
        Value::Map(_) => scalar(item.get("target").or(item.get("source"))?)?,
        Value::Null | Value::Seq(_) => return None,
    };
    // Configs and secrets have names below a usual folder.
    let text = text.strip_prefix("/run/secrets").unwrap_or(text);
    Some(text.trim_matches('/').to_owned())
}

fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar { text, .. } => Some(text),
        Value::Null | Value::Seq(_) | Value::Map(_) => None,
    }
}

fn same_driver(base: &Value, own: &Value) -> bool {
    let driver = |it: &Value| match it {
        Value::Map(entries) => {
            let found = entries.iter().find(|it| it.0.text == "driver");
            found.and_then(|it| scalar(&it.1)).map(str::to_owned)
        }
        Value::Null | Value::Scalar { .. } | Value::Seq(_) => None,
    };
    driver(own).is_none_or(|it| driver(base).is_none_or(|base| base == it))
}
