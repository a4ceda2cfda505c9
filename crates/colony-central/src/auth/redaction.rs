//! Hides the names of sites that a reader may not see.
//!
//! A commit for several sites names all of them in its subject, and the events
//! of each site repeat the subject.

use std::collections::BTreeSet;

use colony_core::fleet::Fleet;
use serde_json::Value;

use super::Operator;

/// The replacement of a hidden name.
const HIDDEN: &str = "…";

/// The names that are hidden from one reader; none for most readers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redaction(BTreeSet<String>);

impl Redaction {
    pub(crate) fn new(fleet: &Fleet, operator: &Operator) -> Redaction {
        if operator.sees_all() {
            return Redaction::default();
        }
        let sites = fleet.sites().map(|it| it.0).filter(|it| !operator.sees(it));
        Redaction(sites.map(ToString::to_string).collect())
    }

    /// The text, with every word that is one of the names hidden.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-';
        let (mut shown, mut rest) = (String::new(), text);
        while !rest.is_empty() {
            let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            shown += if self.0.contains(word) { HIDDEN } else { word };
            let next = behind.find(is_part).unwrap_or(behind.len());
            shown += &behind[..next];
            rest = &behind[next..];
        }
        shown
    }

    /// The same for all texts in a document.
    pub(crate) fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(all) => all.iter_mut().for_each(|it| self.json(it)),
            Value::Object(all) => all.values_mut().for_each(|it| self.json(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_names_are_hidden() {
        check("Deploy hello 1.1 at plant-a, plant-b", "Deploy hello 1.1 at …, plant-b");
        check("plant-a", "…");
        check("plant-a2, plant-a: (plant-a)", "plant-a2, …: (…)");
        check("ü plant-a ü", "ü … ü");
        check("", "");
        let mut value = json!({"a": ["plant-a", 1, {"b": "plant-a!"}]});
        redaction().json(&mut value);
        assert_eq!(value, json!({"a": ["…", 1, {"b": "…!"}]}));
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redaction().text(text), expected);
        assert_eq!(Redaction::default().text(text), text);
    }

    fn redaction() -> Redaction {
        Redaction(BTreeSet::from(["plant-a".to_owned()]))
    }
}
