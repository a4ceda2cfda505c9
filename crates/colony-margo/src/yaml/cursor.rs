//! Walks a tree and collects all its problems.
//!
//! Each reader either returns a value or adds a finding with the position and
//! path of the node and returns `None`. A caller reads all fields first and
//! only then gives up, so that one pass finds all mistakes:
//!
//! ```
//! # use colony_margo::yaml::Cursor;
//! # struct Port { name: String, number: u64 }
//! fn read(cursor: &Cursor<'_>) -> Option<Port> {
//!     cursor.unknown_keys(&["name", "number"]);
//!     let name = cursor.required("name").and_then(|it| it.string());
//!     let number = cursor.required("number").and_then(|it| it.unsigned());
//!     Some(Port { name: name?, number: number? })
//! }
//! ```

use std::collections::BTreeMap;

use super::{Node, Value, hint};
use crate::Json;
use crate::extension::{self, Extensions};
use crate::finding::{Finding, Findings, Severity};

/// A place in a document that is being read.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    node: &'a Node,
    path: String,
    findings: &'a Findings,
}

/// An entry of a map: the key, the place of the key, and the value.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    pub key: &'a str,
    pub value: Cursor<'a>,
    line: u32,
    column: u32,
}

impl<'a> Cursor<'a> {
    /// The root of a document.
    pub fn root(node: &'a Node, findings: &'a Findings) -> Cursor<'a> {
        Cursor { node, path: String::new(), findings }
    }

    /// The node at this place.
    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// The path to this place, such as `spec.components[0].name`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds an error about this place.
    pub fn error(&self, problem: impl Into<String>, expected: impl Into<String>) {
        self.report(Severity::Error, problem, expected);
    }

    /// Adds a warning about this place.
    pub fn warning(&self, problem: impl Into<String>, expected: impl Into<String>) {
        self.report(Severity::Warning, problem, expected);
    }

    /// Adds a finding about this place.
    pub fn report(
        &self,
        severity: Severity,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let at = (self.node.line, self.node.column);
        self.findings.push(finding(at, &self.path, severity, problem.into(), expected.into()));
    }

    /// The value of a key that may be absent. A key without a value is absent.
    pub fn field(&self, name: &str) -> Option<Cursor<'a>> {
        let Value::Map(_) = &self.node.value else {
            return self.mismatch("a mapping");
        };
        let node = self.node.get(name).filter(|it| it.value != Value::Null)?;
        Some(self.child(node, join(&self.path, name)))
    }

    /// The value of a required key.
    pub fn required(&self, name: &str) -> Option<Cursor<'a>> {
        let field = self.field(name);
        if field.is_none() && matches!(self.node.value, Value::Map(_)) {
            let empty = self.node.get(name);
            let problem = if empty.is_some() { "has no value" } else { "is missing" };
            let place = self.child(empty.unwrap_or(self.node), join(&self.path, name));
            place.error(problem, format!("`{name}`, which is required"));
        }
        field
    }

    /// The items of a list.
    pub fn items(&self) -> Option<Vec<Cursor<'a>>> {
        let Value::Seq(items) = &self.node.value else { return self.mismatch("a list") };
        let item = |(index, node)| self.child(node, longer(&self.path, &format!("[{index}]")));
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The items of a list that has at least one.
    pub fn some_items(&self) -> Option<Vec<Cursor<'a>>> {
        let items = self.items()?;
        if items.is_empty() {
            self.error("is an empty list", "at least one item");
            return None;
        }
        Some(items)
    }

    /// Reads every item of a list, and returns them if all could be read.
    pub fn each<T>(&self, read: impl Fn(&Cursor<'a>) -> Option<T>) -> Option<Vec<T>> {
        let items: Vec<Option<T>> = self.items()?.iter().map(read).collect();
        items.into_iter().collect()
    }

    /// Reads every item of a list that has at least one.
    pub fn some_each<T>(&self, read: impl Fn(&Cursor<'a>) -> Option<T>) -> Option<Vec<T>> {
        self.some_items().and_then(|_| self.each(read))
    }

    /// Refuses items of a list that have the same text under `key`; `what` is
    /// the name of the items in messages.
    pub fn unique(&self, key: &str, what: &str) {
        let Value::Seq(items) = &self.node.value else { return };
        let mut seen = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let Some(field) = item.get(key) else { continue };
            let Value::Scalar { text, .. } = &field.value else { continue };
            if let Some(first) = seen.insert(text, index) {
                let place = self.child(field, format!("{}[{index}].{key}", self.path));
                let problem = format!("{what} `{}` is given twice", clip(text));
                place.error(problem, format!("another {key} than that of item {first}"));
            }
        }
    }

    /// The entries of a map, in the order of the document.
    pub fn entries(&self) -> Option<Vec<Entry<'a>>> {
        let Value::Map(entries) = &self.node.value else { return self.mismatch("a mapping") };
        let entry = |(key, node): &'a (super::Key, Node)| Entry {
            key: &key.text,
            value: self.child(node, join(&self.path, &key.text)),
            line: key.line,
            column: key.column,
        };
        Some(entries.iter().map(entry).collect())
    }

    /// Any value.
    pub fn json(&self) -> Json {
        self.node.to_json()
    }

    /// The extensions of a map, kept as they are.
    pub fn extensions(&self) -> Extensions {
        extension::read(self)
    }

    /// Warns about keys that are neither in `known` nor extensions.
    pub fn unknown_keys(&self, known: &[&str]) {
        self.strangers(known, Severity::Warning);
    }

    /// Refuses keys that are neither in `known` nor extensions.
    pub fn refuse_unknown_keys(&self, known: &[&str]) {
        self.strangers(known, Severity::Error);
    }

    fn strangers(&self, known: &[&str], severity: Severity) {
        let Value::Map(_) = &self.node.value else { return };
        let entries = self.entries().unwrap_or_default();
        for entry in entries.iter().filter(|it| !extension::is_key(it.key)) {
            if !known.contains(&entry.key) {
                entry.unknown(known, severity);
            }
        }
    }

    /// Adds that the value at this place is not `expected`.
    pub fn mismatch<T>(&self, expected: &str) -> Option<T> {
        self.wrong(self.node.kind(), expected)
    }

    /// Reports that the value is not between its limits.
    pub fn out_of_range<T>(&self, expected: &str) -> Option<T> {
        self.wrong("out of range", expected)
    }

    fn wrong<T>(&self, what: &str, expected: &str) -> Option<T> {
        let problem = match &self.node.value {
            Value::Scalar { text, .. } => format!("`{}` is {what}", clip(text)),
            Value::Null | Value::Seq(_) | Value::Map(_) => format!("is {what}"),
        };
        self.error(problem, expected);
        None
    }

    fn child(&self, node: &'a Node, path: String) -> Cursor<'a> {
        Cursor { node, path, findings: self.findings }
    }
}

impl Entry<'_> {
    /// Adds an error about the key itself.
    pub fn key_error(&self, problem: impl Into<String>, expected: impl Into<String>) {
        self.push(Severity::Error, problem.into(), expected.into());
    }

    fn unknown(&self, known: &[&str], severity: Severity) {
        let hint = guess(self.key, known);
        let problem = format!("key `{}` is not known{hint}", clip(self.key));
        self.push(severity, problem, alternatives(known));
    }

    fn push(&self, severity: Severity, problem: String, expected: String) {
        let at = (self.line, self.column);
        let value = &self.value;
        value.findings.push(finding(at, &value.path, severity, problem, expected));
    }
}

fn finding(
    (line, column): (u32, u32),
    path: &str,
    severity: Severity,
    problem: String,
    expected: String,
) -> Finding {
    Finding { file: None, line, column, path: path.to_owned(), severity, problem, expected }
}

pub(super) fn guess(text: &str, known: &[&str]) -> String {
    let hint = hint::closest(text, known);
    hint.map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default()
}

/// `a`, `b` or `c`.
pub(super) fn alternatives(options: &[&str]) -> String {
    let quoted: Vec<String> = options.iter().map(|it| format!("`{it}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// The longest path that is shown. Every place of a document has a path, so
/// with long keys the paths could take more memory than the document.
const PATH: usize = 400;

fn join(path: &str, key: &str) -> String {
    let plain = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
    let simple = !key.is_empty() && key.len() <= CLIP && key.bytes().all(plain);
    match (path, simple) {
        ("", true) => key.to_owned(),
        (_, true) => longer(path, &format!(".{key}")),
        (_, false) => longer(path, &format!("[{}]", Json::from(clip(key)))),
    }
}

fn longer(path: &str, step: &str) -> String {
    match path.len() + step.len() <= PATH {
        true => format!("{path}{step}"),
        false => format!("{}…", path.trim_end_matches('…')),
    }
}

/// The most characters of a text in a message.
const CLIP: usize = 60;

/// The text, shortened to fit into a message.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(CLIP) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
