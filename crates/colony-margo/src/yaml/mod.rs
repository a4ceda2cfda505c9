//! YAML and JSON as a tree of nodes with their positions.
//!
//! The text of a plain scalar is kept as written, so `1.10` stays `1.10` where
//! a text is expected; only [`Node::to_json`] and the typed readers of
//! [`Cursor`] give it a type, by the YAML 1.2 core schema. Merge keys and
//! custom tags are left out.

mod build;
mod cursor;
mod emit;
mod hint;
mod json;
mod scalar;
mod typed;

pub use build::parse;
pub use cursor::{Cursor, Entry};
pub use emit::emit;
pub use json::parse_json;
pub use scalar::duration;

use crate::Json;
use crate::finding::{Finding, Findings, Parsed, Severity};

/// One value of a document. Line and column count from 1; both are 0 in a
/// tree that was read from JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub line: u32,
    pub column: u32,
    pub value: Value,
}

/// The value of a node. The entries of a map keep the order of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    Scalar { text: String, style: Style },
    Seq(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// How a scalar was written, which limits the types it can be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A plain YAML scalar: a text, or a number or boolean if it looks like one.
    Plain,
    /// A quoted or block scalar: always a text.
    Quoted,
    /// A number or boolean of JSON: never a text.
    Literal,
}

/// The key of a map entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    pub line: u32,
    pub column: u32,
}

/// The limits for reading a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole document.
    pub bytes: usize,
    /// Levels of nesting.
    pub depth: usize,
    /// Nodes, including copies made for aliases.
    pub nodes: usize,
    /// Uses of an alias.
    pub aliases: usize,
    /// Bytes of one scalar.
    pub scalar: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 1024 * 1024, depth: 64, nodes: 100_000, aliases: 1_000, scalar: 256 * 1024 }
    }
}

impl Node {
    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|it| it.0.text == key).map(|it| &it.1),
            Value::Null | Value::Scalar { .. } | Value::Seq(_) => None,
        }
    }

    /// The value as JSON, with scalars typed by the YAML 1.2 core schema.
    /// Infinities and NaN, which JSON lacks, stay texts.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Scalar { text, style: Style::Quoted } => Json::String(text.clone()),
            Value::Scalar { text, .. } => scalar::resolve(text),
            Value::Seq(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect(),
            ),
        }
    }

    /// The tree of a JSON value, without positions.
    pub fn from_json(json: &Json) -> Node {
        let scalar = |text: String, style| Value::Scalar { text, style };
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(_) | Json::Number(_) => scalar(json.to_string(), Style::Literal),
            Json::String(text) => scalar(text.clone(), Style::Quoted),
            Json::Array(items) => Value::Seq(items.iter().map(Node::from_json).collect()),
            Json::Object(entries) => Value::Map(entries.iter().map(json_entry).collect()),
        };
        Node { line: 0, column: 0, value }
    }

    /// The kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "empty",
            Value::Scalar { style: Style::Quoted, .. } => "a text",
            Value::Scalar { text, .. } => scalar::kind(text),
            Value::Seq(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

fn json_entry((key, value): (&String, &Json)) -> (Key, Node) {
    (Key { text: key.clone(), line: 0, column: 0 }, Node::from_json(value))
}

/// Deserialises a document by its `read`; the error is the first of its errors.
macro_rules! deserialize_by_read {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$type, D::Error> {
                let json = <crate::Json as serde::Deserialize>::deserialize(deserializer)?;
                let node = crate::yaml::Node::from_json(&json);
                let read = crate::yaml::read_node(&node, <$type>::read);
                read.map(|it| it.value).map_err(|findings| {
                    let is_error = |it: &&crate::Finding| it.severity == crate::Severity::Error;
                    let first = findings.iter().find(is_error).map(ToString::to_string);
                    serde::de::Error::custom(first.unwrap_or_default())
                })
            }
        }
    };
}

pub(crate) use deserialize_by_read;

/// Parses a YAML document and reads it with `read`, collecting all findings.
pub fn read<T>(
    bytes: &[u8],
    limits: &Limits,
    read: impl FnOnce(&Cursor<'_>) -> Option<T>,
) -> Result<Parsed<T>, Vec<Finding>> {
    read_node(&parse(bytes, limits)?, read)
}

/// Parses a JSON document and reads it with `read`, collecting all findings.
pub fn read_json<T>(
    bytes: &[u8],
    limits: &Limits,
    read: impl FnOnce(&Cursor<'_>) -> Option<T>,
) -> Result<Parsed<T>, Vec<Finding>> {
    read_node(&parse_json(bytes, limits)?, read)
}

/// Reads a parsed document with `read`, collecting all findings.
pub fn read_node<T>(
    node: &Node,
    read: impl FnOnce(&Cursor<'_>) -> Option<T>,
) -> Result<Parsed<T>, Vec<Finding>> {
    let findings = Findings::new();
    let value = read(&Cursor::root(node, &findings));
    findings.finish(value)
}

/// A finding about the whole document, not about one of its fields.
fn flaw(
    (line, column): (u32, u32),
    problem: impl Into<String>,
    expected: impl Into<String>,
) -> Finding {
    Finding {
        file: None,
        line,
        column,
        path: String::new(),
        severity: Severity::Error,
        problem: problem.into(),
        expected: expected.into(),
    }
}
