//! Walks a tree and collects everything that is wrong with it.
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

use std::time::Duration;

use super::{Node, Style, Value, hint, scalar};
use crate::Json;
use crate::extension::{self, Extensions};
use crate::finding::{Finding, Findings, Severity};
use crate::text::Text;

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
        self.push(Severity::Error, problem.into(), expected.into());
    }

    /// Adds a warning about this place.
    pub fn warning(&self, problem: impl Into<String>, expected: impl Into<String>) {
        self.push(Severity::Warning, problem.into(), expected.into());
    }

    /// The value of a key that may be absent. A key without a value is absent.
    pub fn field(&self, name: &str) -> Option<Cursor<'a>> {
        let Value::Map(_) = &self.node.value else {
            return self.mismatch("a mapping");
        };
        let node = self.node.get(name).filter(|it| it.value != Value::Null)?;
        Some(self.child(node, join(&self.path, name)))
    }

    /// The value of a key that must be there.
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
        let item = |(index, node)| self.child(node, format!("{}[{index}]", self.path));
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

    /// A text. A plain scalar is taken as it is written, also if it looks
    /// like a number.
    pub fn string(&self) -> Option<String> {
        match &self.node.value {
            Value::Scalar { text, style: Style::Plain | Style::Quoted } => Some(text.clone()),
            Value::Null | Value::Scalar { .. } | Value::Seq(_) | Value::Map(_) => {
                self.mismatch("a text")
            }
        }
    }

    /// A text with at least one character.
    pub fn some_string(&self) -> Option<String> {
        let text = self.string()?;
        if text.is_empty() {
            self.error("is empty", "a text");
            return None;
        }
        Some(text)
    }

    /// A text of a kind that has rules of its own.
    pub fn text<T: Text>(&self) -> Option<T> {
        match self.string()?.parse::<T>() {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.error(invalid.problem(), T::EXPECTED);
                None
            }
        }
    }

    /// A text that is one of `options`.
    pub fn one_of<'o>(&self, options: &[&'o str]) -> Option<&'o str> {
        let text = self.string()?;
        let found = options.iter().find(|it| **it == text).copied();
        if found.is_none() {
            let hint = hint::closest(&text, options);
            let hint = hint.map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default();
            self.error(format!("`{}` is not known{hint}", clip(&text)), alternatives(options));
        }
        found
    }

    /// A boolean, `true` or `false`.
    pub fn bool(&self) -> Option<bool> {
        let value = self.plain().and_then(scalar::boolean);
        value.or_else(|| self.mismatch("`true` or `false`"))
    }

    /// An integer.
    pub fn integer(&self) -> Option<i64> {
        let value = self.plain().and_then(scalar::number).and_then(|it| it.as_i64());
        value.or_else(|| self.mismatch("an integer"))
    }

    /// An integer that is not negative.
    pub fn unsigned(&self) -> Option<u64> {
        let value = self.plain().and_then(scalar::number).and_then(|it| it.as_u64());
        value.or_else(|| self.mismatch("an integer that is not negative"))
    }

    /// A finite number.
    pub fn number(&self) -> Option<serde_json::Number> {
        let value = self.plain().and_then(scalar::number);
        value.or_else(|| self.mismatch("a number"))
    }

    /// A duration such as `30s` or `1h30m`.
    pub fn duration(&self) -> Option<Duration> {
        let value = scalar::duration(&self.string()?);
        value.or_else(|| self.mismatch("a duration such as `30s`, `5m` or `1h30m`"))
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

    fn plain(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Scalar { text, style: Style::Plain | Style::Literal } => Some(text),
            Value::Null | Value::Scalar { .. } | Value::Seq(_) | Value::Map(_) => None,
        }
    }

    /// Adds that this place holds something else than `expected`.
    pub fn mismatch<T>(&self, expected: &str) -> Option<T> {
        let kind = self.node.kind();
        let problem = match &self.node.value {
            Value::Scalar { text, .. } => format!("`{}` is {kind}", clip(text)),
            Value::Null | Value::Seq(_) | Value::Map(_) => format!("is {kind}"),
        };
        self.error(problem, expected);
        None
    }

    fn child(&self, node: &'a Node, path: String) -> Cursor<'a> {
        Cursor { node, path, findings: self.findings }
    }

    fn push(&self, severity: Severity, problem: String, expected: String) {
        let Node { line, column, .. } = *self.node;
        let path = self.path.clone();
        self.findings.push(Finding { file: None, line, column, path, severity, problem, expected });
    }
}

impl Entry<'_> {
    /// Adds an error about the key itself.
    pub fn key_error(&self, problem: impl Into<String>, expected: impl Into<String>) {
        self.push(Severity::Error, problem.into(), expected.into());
    }

    fn unknown(&self, known: &[&str], severity: Severity) {
        let hint = hint::closest(self.key, known);
        let expected = match hint {
            Some(name) => format!("`{name}`, did you mean that?"),
            None => alternatives(known),
        };
        self.push(severity, format!("key `{}` is not known", clip(self.key)), expected);
    }

    fn push(&self, severity: Severity, problem: String, expected: String) {
        let path = self.value.path.clone();
        let (line, column) = (self.line, self.column);
        self.value.findings.push(Finding {
            file: None,
            line,
            column,
            path,
            severity,
            problem,
            expected,
        });
    }
}

/// `a`, `b` or `c`.
fn alternatives(options: &[&str]) -> String {
    let quoted: Vec<String> = options.iter().map(|it| format!("`{it}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

fn join(path: &str, key: &str) -> String {
    let simple =
        !key.is_empty() && key.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    match (path, simple) {
        ("", true) => key.to_owned(),
        (_, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{}]", Json::from(clip(key))),
    }
}

/// The text, shortened to what fits into a message.
fn clip(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
