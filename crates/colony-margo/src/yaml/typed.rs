//! Reads the scalar at a place as the expected type.

use std::time::Duration;

use super::cursor::{Cursor, alternatives, clip, guess};
use super::{Style, Value, scalar};
use crate::value::text::Text;

impl<'a> Cursor<'a> {
    /// A text. A plain scalar is returned as written, even if it looks like a
    /// number.
    pub fn string(&self) -> Option<String> {
        match &self.node().value {
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

    /// A text with its own rules, such as a name.
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
            let hint = guess(&text, options);
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

    fn plain(&self) -> Option<&'a str> {
        match &self.node().value {
            Value::Scalar { text, style: Style::Plain | Style::Literal } => Some(text),
            Value::Null | Value::Scalar { .. } | Value::Seq(_) | Value::Map(_) => None,
        }
    }
}
