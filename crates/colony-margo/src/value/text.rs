//! Texts with rules: one error type and serde by text for all of them.

use std::str::FromStr;

/// A text with rules, such as a name or a quantity.
pub trait Text: FromStr<Err = Invalid> {
    /// The name of the text in a message, such as "device id".
    const WHAT: &'static str;
    /// The expectation, as the rest of "expected …".
    const EXPECTED: &'static str;
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {}; expected {expected}", self.problem())]
pub struct Invalid {
    pub what: &'static str,
    /// The text, shortened.
    pub text: String,
    pub reason: Reason,
    pub expected: &'static str,
}

/// The problem of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("is empty")]
    Empty,
    #[error("is longer than {0} characters")]
    TooLong(usize),
    #[error("has the character `{0}`")]
    Character(char),
    #[error("has the segment `{0}`")]
    Segment(String),
    #[error("is malformed")]
    Form,
    #[error("is too large")]
    TooLarge,
}

impl Invalid {
    /// The error for `text` as a `T`.
    pub fn new<T: Text>(text: &str, reason: Reason) -> Invalid {
        let text = text.chars().take(80).collect();
        Invalid { what: T::WHAT, text, reason, expected: T::EXPECTED }
    }

    /// The text and its problem.
    pub fn problem(&self) -> String {
        match self.reason {
            Reason::Empty => self.reason.to_string(),
            Reason::TooLong(_)
            | Reason::Character(_)
            | Reason::Segment(_)
            | Reason::Form
            | Reason::TooLarge => format!("`{}` {}", self.text, self.reason),
        }
    }
}

/// Refuses a text that is empty, too long, or has a character not `allowed`.
pub(crate) fn check<T: Text>(
    text: &str,
    limit: usize,
    allowed: impl Fn(char) -> bool,
) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::new::<T>(text, Reason::Empty));
    }
    if text.chars().count() > limit {
        return Err(Invalid::new::<T>(text, Reason::TooLong(limit)));
    }
    match text.chars().find(|it| !allowed(*it)) {
        Some(c) => Err(Invalid::new::<T>(text, Reason::Character(c))),
        None => Ok(()),
    }
}

/// Serde by `Display` and `FromStr`.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$type, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// `as_str`, `Display`, `Debug` and serde of a type that holds its text.
macro_rules! holds_text {
    ($type:ident) => {
        impl $type {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($type), self.0)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        crate::value::text::serde_as_text!($type);
    };
}

pub(crate) use {holds_text, serde_as_text};
