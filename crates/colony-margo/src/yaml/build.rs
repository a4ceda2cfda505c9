//! Builds the tree out of the parser's events, within limits.
//!
//! The parser is granit-parser, the event layer below serde-saphyr. Aliases are
//! expanded here, because only a count of expanded nodes and levels stops a
//! document that multiplies itself by aliases.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::cursor::clip;
use super::{Key, Limits, Node, Style, Value, flaw, scalar};
use crate::finding::{Finding, Findings};

type Position = (u32, u32);

/// Parses one YAML document. A syntax error or an exceeded limit ends the
/// reading; duplicate keys and the like are collected.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Node, Vec<Finding>> {
    let text = decode(bytes, limits).map_err(|it| vec![it])?;
    let mut tree = Tree::new(limits);
    if let Err(fatal) = tree.feed(text) {
        tree.findings.push(fatal);
    }
    if !tree.findings.is_empty() {
        return Err(tree.findings.into_vec());
    }
    Ok(tree.root.unwrap_or(Node { line: 1, column: 1, value: Value::Null }))
}

/// Checks size and encoding, which JSON documents share.
pub(super) fn decode<'a>(bytes: &'a [u8], limits: &Limits) -> Result<&'a str, Finding> {
    if bytes.len() > limits.bytes {
        let problem = format!("document has {} bytes", bytes.len());
        return Err(flaw((0, 0), problem, format!("at most {}", limits.bytes)));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|it| **it == b'\n').count();
        flaw((position(line), 1), "line is not UTF-8", "a document encoded as UTF-8")
    })
}

/// The tree while it is being built: the open collections, innermost last.
struct Tree<'l> {
    limits: &'l Limits,
    findings: Findings,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    root: Option<Node>,
    nodes: usize,
    aliases: usize,
    /// Bytes of texts, including copies made for anchors and aliases.
    bytes: usize,
    documents: usize,
}

/// A collection whose end has not been read yet.
struct Open {
    at: Position,
    anchor: usize,
    items: Items,
    /// Nodes, levels and bytes of texts inside, for the limits on aliases.
    weight: Weight,
}

/// The cost of each copy of a node.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    height: usize,
    bytes: usize,
}

enum Items {
    Seq(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, lines: BTreeMap<String, u32>, key: Option<Key> },
}

struct Anchored {
    node: Node,
    weight: Weight,
}

impl<'l> Tree<'l> {
    fn new(limits: &'l Limits) -> Tree<'l> {
        Tree {
            limits,
            findings: Findings::new(),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            root: None,
            nodes: 0,
            aliases: 0,
            bytes: 0,
            documents: 0,
        }
    }

    fn feed(&mut self, text: &str) -> Result<(), Finding> {
        for next in Parser::new_from_str(text) {
            let (event, span) = next.map_err(|error| {
                let at = place(error.marker().line(), error.marker().col());
                flaw(at, format!("YAML cannot be read here: {}", error.info()), "valid YAML")
            })?;
            self.event(event, start(&span))?;
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open; the rest has no data")]
    fn event(&mut self, event: Event<'_>, at: Position) -> Result<(), Finding> {
        match event {
            Event::DocumentStart(..) => self.document(at),
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style, tag.as_deref(), at)?;
                self.leaf(value, anchor, at)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(Items::Seq(Vec::new()), anchor, tag.as_deref(), at)
            }
            Event::MappingStart(_, anchor, tag) => {
                let items = Items::Map { entries: Vec::new(), lines: BTreeMap::new(), key: None };
                self.begin(items, anchor, tag.as_deref(), at)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(id) => self.alias(id, at),
            _ => Ok(()),
        }
    }

    fn document(&mut self, at: Position) -> Result<(), Finding> {
        self.documents += 1;
        match self.documents {
            1 => Ok(()),
            _ => Err(flaw(at, "a second document starts here", "one document per file")),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        at: Position,
    ) -> Result<Value, Finding> {
        if text.len() > self.limits.scalar {
            let problem = format!("value has {} bytes", text.len());
            return Err(flaw(at, problem, format!("at most {}", self.limits.scalar)));
        }
        self.tag(tag, at);
        let tagged = tag.is_some_and(|it| it.is_yaml_core_schema_tag("str"));
        let plain = style == ScalarStyle::Plain && !tagged;
        if plain && scalar::is_null(text) {
            return Ok(Value::Null);
        }
        let style = if plain { Style::Plain } else { Style::Quoted };
        Ok(Value::Scalar { text: text.to_owned(), style })
    }

    fn tag(&mut self, tag: Option<&Tag>, at: Position) {
        if let Some(tag) = tag.filter(|it| !it.is_yaml_core_schema()) {
            let problem = format!("tag `{}` is not known", clip(&tag.original()));
            self.findings.push(flaw(at, problem, "plain values without tags of your own"));
        }
    }

    fn leaf(&mut self, value: Value, anchor: usize, at: Position) -> Result<(), Finding> {
        let bytes = if let Value::Scalar { text, .. } = &value { text.len() } else { 0 };
        let weight = Weight { nodes: 1, height: 0, bytes };
        self.count(weight, at)?;
        let node = Node { line: at.0, column: at.1, value };
        self.close(Anchored { node, weight }, anchor)
    }

    fn begin(
        &mut self,
        items: Items,
        anchor: usize,
        tag: Option<&Tag>,
        at: Position,
    ) -> Result<(), Finding> {
        self.tag(tag, at);
        let weight = Weight { nodes: 1, ..Weight::default() };
        self.count(weight, at)?;
        self.descend(1, at)?;
        self.open.push(Open { at, anchor, items, weight });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Finding> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.items {
            Items::Seq(items) => Value::Seq(items),
            Items::Map { entries, .. } => Value::Map(entries),
        };
        let node = Node { line: open.at.0, column: open.at.1, value };
        let weight = Weight { height: open.weight.height + 1, ..open.weight };
        self.close(Anchored { node, weight }, open.anchor)
    }

    fn alias(&mut self, id: usize, at: Position) -> Result<(), Finding> {
        self.aliases += 1;
        if self.aliases > self.limits.aliases {
            let expected = format!("at most {}", self.limits.aliases);
            return Err(flaw(at, "document uses too many aliases", expected));
        }
        let Some(target) = self.anchors.get(&id) else {
            return Err(flaw(at, "alias stands inside its own anchor", "an anchor that has ended"));
        };
        let weight = target.weight;
        self.count(weight, at)?;
        self.descend(weight.height, at)?;
        let node = self.anchors[&id].node.clone();
        self.attach(node, weight, at)
    }

    fn close(&mut self, done: Anchored, anchor: usize) -> Result<(), Finding> {
        let Anchored { node, weight } = done;
        let at = (node.line, node.column);
        // An anchor keeps a copy, and anchors may be nested.
        if anchor > 0 {
            self.count(weight, at)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), weight });
        }
        self.attach(node, weight, at)
    }

    /// Attaches a finished node to its parent, as root, item, key or value.
    fn attach(&mut self, node: Node, weight: Weight, at: Position) -> Result<(), Finding> {
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        parent.weight.nodes += weight.nodes;
        parent.weight.bytes += weight.bytes;
        parent.weight.height = parent.weight.height.max(weight.height);
        match &mut parent.items {
            Items::Seq(items) => items.push(node),
            Items::Map { entries, lines, key } => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(new_key(node, lines, at, &self.findings)?),
            },
        }
        Ok(())
    }

    fn count(&mut self, weight: Weight, at: Position) -> Result<(), Finding> {
        self.nodes = self.nodes.saturating_add(weight.nodes);
        self.bytes = self.bytes.saturating_add(weight.bytes);
        // An escape may produce a longer text than itself, by a half.
        let most = self.limits.bytes.saturating_mul(2);
        if self.bytes > most {
            let expected = format!("at most {most} bytes");
            return Err(flaw(at, "document repeats too much by aliases", expected));
        }
        if self.nodes > self.limits.nodes {
            let expected = format!("at most {}", self.limits.nodes);
            return Err(flaw(at, "document has too many values", expected));
        }
        Ok(())
    }

    fn descend(&self, levels: usize, at: Position) -> Result<(), Finding> {
        if self.open.len() + levels > self.limits.depth {
            let expected = format!("at most {} levels", self.limits.depth);
            return Err(flaw(at, "document is nested too deep", expected));
        }
        Ok(())
    }
}

fn new_key(
    node: Node,
    lines: &mut BTreeMap<String, u32>,
    at: Position,
    findings: &Findings,
) -> Result<Key, Finding> {
    let Value::Scalar { text, .. } = node.value else {
        return Err(flaw(at, format!("key is {}", node.kind()), "a text as key"));
    };
    if let Some(line) = lines.get(&text) {
        let problem = format!("key `{}` is given twice, first in line {line}", clip(&text));
        findings.push(flaw(at, problem, "each key once"));
    }
    lines.entry(text.clone()).or_insert(at.0);
    Ok(Key { text, line: at.0, column: at.1 })
}

fn start(span: &Span) -> Position {
    place(span.start.line(), span.start.col())
}

fn place(line: usize, column: usize) -> Position {
    (position(line), position(column.saturating_add(1)))
}

fn position(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
