//! Reads strict JSON into the same tree as YAML, without positions.
//!
//! JSON comes from machines, so a path is enough. Duplicate keys are refused,
//! which plain serde_json does not do.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::build::decode;
use super::{Key, Limits, Node, Style, Value, flaw};
use crate::finding::Finding;

/// Parses one JSON document. The first problem ends the reading.
pub fn parse_json(bytes: &[u8], limits: &Limits) -> Result<Node, Vec<Finding>> {
    let text = decode(bytes, limits).map_err(|it| vec![it])?;
    let mut nodes = 0;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let tree = Tree { limits, nodes: &mut nodes, depth: 0 };
    let node = tree.deserialize(&mut deserializer).and_then(|it| deserializer.end().map(|()| it));
    node.map_err(|error| {
        vec![flaw((0, 0), format!("JSON cannot be read: {error}"), "a valid JSON document")]
    })
}

struct Tree<'a> {
    limits: &'a Limits,
    nodes: &'a mut usize,
    depth: usize,
}

impl Tree<'_> {
    fn child(&mut self) -> Tree<'_> {
        Tree { limits: self.limits, nodes: self.nodes, depth: self.depth + 1 }
    }

    fn text<E: Error>(&self, text: &str, style: Style) -> Result<Node, E> {
        if text.len() > self.limits.scalar {
            return Err(E::custom(format_args!("a value has {} bytes", text.len())));
        }
        Ok(node(Value::Scalar { text: text.to_owned(), style }))
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        *self.nodes += 1;
        if *self.nodes > self.limits.nodes {
            return Err(D::Error::custom("document has too many values"));
        }
        if self.depth > self.limits.depth {
            return Err(D::Error::custom("document is nested too deep"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(node(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.text(if value { "true" } else { "false" }, Style::Literal)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        self.text(&value.to_string(), Style::Literal)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        self.text(&value.to_string(), Style::Literal)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        self.text(&crate::Json::from(value).to_string(), Style::Literal)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        self.text(value, Style::Quoted)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self.child())? {
            items.push(item);
        }
        Ok(node(Value::Seq(items)))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(text) = access.next_key::<String>()? {
            if !seen.insert(text.clone()) {
                return Err(A::Error::custom(format_args!("key `{text}` is given twice")));
            }
            let value = access.next_value_seed(self.child())?;
            entries.push((Key { text, line: 0, column: 0 }, value));
        }
        Ok(node(Value::Map(entries)))
    }
}

fn node(value: Value) -> Node {
    Node { line: 0, column: 0, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_types() {
        check(r#"{"a":[1,-2,1.5,"x",true,null,1e300]}"#, None);
        check("{\"a\":\n{\"b\":1,\"b\":2}}", Some("key `b` is given twice"));
        check("a: 1", Some("expected value at line 1 column 1"));
        check("[1] 2", Some("trailing characters at line 1 column 5"));
        check(&"[".repeat(70), Some("nested too deep"));
    }

    #[track_caller]
    fn check(text: &str, flaw: Option<&str>) {
        match (parse_json(text.as_bytes(), &Limits::default()), flaw) {
            (Ok(node), None) => {
                assert_eq!(node.to_json(), serde_json::from_str::<crate::Json>(text).unwrap());
            }
            (Err(findings), Some(flaw)) => {
                assert!(findings[0].problem.contains(flaw), "{}", findings[0]);
            }
            (other, _) => panic!("{other:?}"),
        }
    }
}
