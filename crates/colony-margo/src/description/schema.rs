//! The rules for values that an operator sets.

use regex::RegexBuilder;
use serde::{Serialize, Serializer};
use serde_json::Number;

use crate::Json;
use crate::yaml::Cursor;

/// The most memory a compiled pattern may use.
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
}

fn read_pattern(cursor: &Cursor<'_>) -> Option<String> {
    let pattern = cursor.string()?;
    if compile(&pattern).is_err() {
        cursor.error(format!("`{pattern}` is not a pattern"), "a regular expression");
    }
    Some(pattern)
}

pub(super) fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).nest_limit(50).build()
}
