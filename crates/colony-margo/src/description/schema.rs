//! The rules a value of an operator must meet.
//!
//! An empty value (a text or list without anything, or none at all) is only
//! judged by `allowEmpty`. A pattern matches anywhere in the text, as in JSON
//! Schema; whoever wants the whole text writes `^` and `$`.

use regex::RegexBuilder;
use serde::{Serialize, Serializer};
use serde_json::Number;

use crate::Json;
use crate::yaml::Cursor;

/// The most memory a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

const FIELDS: [&str; 12] = [
    "name",
    "dataType",
    "allowEmpty",
    "minLength",
    "maxLength",
    "regexMatch",
    "minValue",
    "maxValue",
    "minPrecision",
    "maxPrecision",
    "multiselect",
    "options",
];

/// A named set of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Schema {
    pub name: String,
    pub data_type: DataType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_empty: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex_match: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_value: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_value: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_precision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_precision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiselect: Option<bool>,
    /// The values to choose from, when there is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Json>>,
}

/// The type of a value, or of the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataType {
    pub element: Element,
    pub array: bool,
}

/// The type of a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    String,
    Integer,
    Double,
    Boolean,
}

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

impl DataType {
    const NAMES: [(&'static str, Element, bool); 8] = [
        ("string", Element::String, false),
        ("integer", Element::Integer, false),
        ("double", Element::Double, false),
        ("boolean", Element::Boolean, false),
        ("array[string]", Element::String, true),
        ("array[integer]", Element::Integer, true),
        ("array[double]", Element::Double, true),
        ("array[boolean]", Element::Boolean, true),
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        let is_self = |it: &&(&str, Element, bool)| it.1 == self.element && it.2 == self.array;
        DataType::NAMES.iter().find(is_self).map_or("", |it| it.0)
    }

    fn read(cursor: &Cursor<'_>) -> Option<DataType> {
        let name = cursor.one_of(&DataType::NAMES.map(|it| it.0))?;
        let row = DataType::NAMES.iter().find(|it| it.0 == name)?;
        Some(DataType { element: row.1, array: row.2 })
    }
}

impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Schema {
    pub(super) fn read(cursor: &Cursor<'_>) -> Option<Schema> {
        cursor.unknown_keys(&FIELDS);
        let name = cursor.required("name").and_then(|it| it.some_string());
        let data_type = cursor.required("dataType").and_then(|it| DataType::read(&it));
        let unsigned = |name| cursor.field(name).and_then(|it| it.unsigned());
        let number = |name| cursor.field(name).and_then(|it| it.number());
        let boolean = |name| cursor.field(name).and_then(|it| it.bool());
        let options = |it: Cursor<'_>| it.some_each(|item| Some(item.json()));
        Some(Schema {
            allow_empty: boolean("allowEmpty"),
            min_length: unsigned("minLength"),
            max_length: unsigned("maxLength"),
            regex_match: cursor.field("regexMatch").and_then(|it| read_pattern(&it)),
            min_value: number("minValue"),
            max_value: number("maxValue"),
            min_precision: unsigned("minPrecision"),
            max_precision: unsigned("maxPrecision"),
            multiselect: boolean("multiselect"),
            options: cursor.field("options").and_then(options),
            name: name?,
            data_type: data_type?,
        })
    }

    /// Whether an empty value is allowed.
    pub fn allows_empty(&self) -> bool {
        self.allow_empty.unwrap_or(false)
    }

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

    /// What would be right, if the text is wrong.
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

    /// What would be right, if the number is wrong.
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

fn read_pattern(cursor: &Cursor<'_>) -> Option<String> {
    let pattern = cursor.string()?;
    if compile(&pattern).is_err() {
        cursor.error(format!("`{pattern}` is no pattern"), "a regular expression");
    }
    Some(pattern)
}

fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).nest_limit(50).build()
}
