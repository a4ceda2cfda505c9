//! Checks a value that an operator set against the rules of a schema.
//!
//! An empty value (an empty text or list, or null) is only checked against
//! `allowEmpty`. A pattern matches anywhere in the text, as in JSON Schema; to
//! match the whole text it needs `^` and `$`.

use serde_json::Number;

use super::schema::{DataType, Element, Schema, compile};
use crate::Json;

/// Why a value was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parameter `{parameter}` {problem}; expected {expected}")]
pub struct ValueError {
    pub parameter: String,
    pub problem: String,
    pub expected: String,
}

impl ValueError {
    pub(super) fn new(parameter: &str, problem: String, expected: impl Into<String>) -> ValueError {
        ValueError { parameter: parameter.to_owned(), problem, expected: expected.into() }
    }

    pub(super) fn unknown<'a>(
        parameter: &str,
        known: impl Iterator<Item = &'a String>,
    ) -> ValueError {
        let known: Vec<String> = known.map(|it| format!("`{it}`")).collect();
        let expected = format!("one of {}", known.join(", "));
        ValueError::new(parameter, "does not exist".to_owned(), expected)
    }
}

impl Schema {
    /// Checks a value for a parameter.
    pub fn check(&self, parameter: &str, value: &Json) -> Result<(), ValueError> {
        if is_empty(value) {
            return self.check_empty(parameter, value);
        }
        let checked = match value.as_array().filter(|_| self.takes_list()) {
            Some(items) => items.iter().try_for_each(|it| self.check_element(it)),
            None if self.data_type.array => Err((describe(value), "a list".to_owned())),
            None => self.check_element(value),
        };
        checked.map_err(|(problem, expected)| ValueError::new(parameter, problem, expected))
    }

    fn takes_list(&self) -> bool {
        self.data_type.array || self.multiselect.unwrap_or(false)
    }

    fn check_empty(&self, parameter: &str, value: &Json) -> Result<(), ValueError> {
        if self.allows_empty() {
            return Ok(());
        }
        let problem = if value.is_null() { "has no value" } else { "is empty" };
        Err(ValueError::new(parameter, problem.to_owned(), self.data_type.expected()))
    }

    fn check_element(&self, value: &Json) -> Result<(), (String, String)> {
        let refuse = |expected: String| Err((describe(value), expected));
        if !self.data_type.element.fits(value) {
            return refuse(self.data_type.element.expected().to_owned());
        }
        if let Some(options) = self.options.as_ref().filter(|it| !it.contains(value)) {
            let options: Vec<String> = options.iter().map(show).collect();
            return refuse(format!("one of {}", options.join(", ")));
        }
        let expected = match value {
            Json::String(text) => self.text_flaw(text),
            Json::Number(number) => self.number_flaw(number),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
        };
        expected.map_or(Ok(()), refuse)
    }

    /// The violated rule, as an expectation, if the text is wrong.
    fn text_flaw(&self, text: &str) -> Option<String> {
        let length = text.chars().count() as u64;
        if let Some(min) = self.min_length.filter(|it| length < *it) {
            return Some(format!("at least {min} characters"));
        }
        if let Some(max) = self.max_length.filter(|it| length > *it) {
            return Some(format!("at most {max} characters"));
        }
        let pattern = self.regex_match.as_ref()?;
        let matched = compile(pattern).is_ok_and(|it| it.is_match(text));
        (!matched).then(|| format!("a text that matches `{pattern}`"))
    }

    /// The violated rule, as an expectation, if the number is wrong.
    fn number_flaw(&self, number: &Number) -> Option<String> {
        let value = number.as_f64()?;
        let bound = |it: &Option<Number>| it.as_ref().and_then(Number::as_f64);
        if let Some(min) = bound(&self.min_value).filter(|it| value < *it) {
            return Some(format!("at least {min}"));
        }
        if let Some(max) = bound(&self.max_value).filter(|it| value > *it) {
            return Some(format!("at most {max}"));
        }
        if self.data_type.element != Element::Double {
            return None;
        }
        let decimals = decimals(value);
        if let Some(min) = self.min_precision.filter(|it| decimals < *it) {
            return Some(format!("at least {min} decimal places"));
        }
        let max = self.max_precision.filter(|it| decimals > *it)?;
        Some(format!("at most {max} decimal places"))
    }
}

impl DataType {
    fn expected(self) -> String {
        let element = self.element.expected();
        if self.array { format!("a list, each element {element}") } else { element.to_owned() }
    }
}

impl Element {
    fn fits(self, value: &Json) -> bool {
        match self {
            Element::String => value.is_string(),
            Element::Integer => value.is_i64() || value.is_u64(),
            Element::Double => value.is_number(),
            Element::Boolean => value.is_boolean(),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Element::String => "a text",
            Element::Integer => "an integer",
            Element::Double => "a number",
            Element::Boolean => "`true` or `false`",
        }
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
    }
}

/// The decimal places of the shortest way to write a number.
fn decimals(value: f64) -> u64 {
    let text = value.to_string();
    text.split_once('.').map_or(0, |it| it.1.len() as u64)
}

fn describe(value: &Json) -> String {
    format!("is {}", show(value))
}

fn show(value: &Json) -> String {
    format!("`{}`", value.to_string().chars().take(60).collect::<String>())
}
