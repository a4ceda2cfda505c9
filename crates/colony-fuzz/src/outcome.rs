//! What came of one input, reduced to what tells two ways through a reader apart.
//!
//! Without coverage this is the feedback of the mutator: an input with an
//! outcome not seen before is worth changing further.

use std::fmt::{Display, Write};

use colony_core::margo::{Finding, Json};

/// The way an input took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome(u64);

impl Outcome {
    /// Refused, and why; numbers and quoted parts make no difference.
    pub fn refused(why: impl Display) -> Outcome {
        Outcome(hash(&format!("refused {}", bare(&why.to_string()))))
    }

    /// Refused with findings; only kinds of findings make a difference.
    pub fn found(findings: &[Finding]) -> Outcome {
        let mut kinds: Vec<String> = findings.iter().take(20).map(|it| bare(&it.problem)).collect();
        kinds.sort();
        kinds.dedup();
        Outcome(hash(&format!("found {}", kinds.join("|"))))
    }

    /// Taken; `shape` tells apart what was taken.
    pub fn taken(shape: impl Display) -> Outcome {
        Outcome(hash(&format!("taken {}", bare(&shape.to_string()))))
    }

    /// Taken by the readers of these names.
    pub fn taken_by(names: &[&str]) -> Outcome {
        Outcome(hash(&format!("taken by {}", names.join(" "))))
    }

    /// Taken as a document that prints as this JSON: its keys tell it apart.
    pub fn document(json: &Json) -> Outcome {
        let mut text = String::from("document ");
        sketch(json, 6, &mut text);
        Outcome(hash(&text))
    }
}

/// Two levels more of a sketch are cut off, long lists count as two items.
fn sketch(json: &Json, depth: usize, out: &mut String) {
    match json {
        _ if depth == 0 => out.push('…'),
        Json::Null => out.push('0'),
        Json::Bool(_) => out.push('b'),
        Json::Number(_) => out.push('n'),
        Json::String(text) => _ = write!(out, "s{}", usize::from(!text.is_empty())),
        Json::Array(items) => {
            out.push('[');
            items.iter().take(2).for_each(|it| sketch(it, depth - 1, out));
        }
        Json::Object(entries) => {
            out.push('{');
            for (key, value) in entries.iter().take(32) {
                out.push_str(&bare(key));
                sketch(value, depth - 1, out);
            }
        }
    }
}

/// The text without digits and without what stands in quotes.
fn bare(text: &str) -> String {
    let outside = text.split(['`', '"']).step_by(2);
    let words: String = outside.collect();
    words.chars().filter(|it| !it.is_numeric()).take(160).collect()
}

/// FNV-1a: the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
