//! Names and ids that need no escaping, by construction.
//!
//! A value of these types can be used as is in a file path, a Git path, a URL
//! segment, a container label or a Margo device id, because parsing is the only
//! way to create one.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use colony_margo::DeploymentId;

/// Why a text is not a name or an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a {kind} has 1 to {limit} characters, `{text}` has {length}")]
    Length { kind: &'static str, text: String, length: usize, limit: usize },
    #[error(
        "a {kind} has lower-case letters, digits and inner dashes only, `{text}` has `{found}`"
    )]
    Character { kind: &'static str, text: String, found: char },
    #[error("a {kind} is 40 or 64 lower-case hex digits, `{text}` is not")]
    Hex { kind: &'static str, text: String },
}

const NAME_LIMIT: usize = 63;

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                $check($kind, text)?;
                Ok($name(Arc::from(text)))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

text_type!(
    /// A site: immutable, the folder of its deployments in Git.
    SiteName, "site name", check_label
);
text_type!(
    /// A node of a site: the last segment of its Margo device id.
    NodeName, "node name", check_label
);
text_type!(
    /// The fleet-wide handle of a deployment: its file name in Git.
    DeploymentName, "deployment name", check_label
);
text_type!(
    /// A commit of the deployments repository.
    GitRevision, "commit id", check_hex
);
text_type!(
    /// The id that Git gives to the content of a file.
    BlobId, "blob id", check_hex
);

impl GitRevision {
    /// The abbreviated commit id, for display.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

/// One deployment on one node: the unit of the state machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PlacementId {
    pub deployment: DeploymentId,
    pub node: NodeName,
}

impl fmt::Display for PlacementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.deployment, self.node)
    }
}

fn check_label(kind: &'static str, text: &str) -> Result<(), NameError> {
    let length = text.chars().count();
    if length == 0 || length > NAME_LIMIT {
        return Err(NameError::Length { kind, text: clip(text), length, limit: NAME_LIMIT });
    }
    let last = text.len() - 1;
    let odd = text.char_indices().find(|&(at, it)| {
        !(it.is_ascii_lowercase() || it.is_ascii_digit() || (it == '-' && at != 0 && at != last))
    });
    match odd {
        Some((_, found)) => Err(NameError::Character { kind, text: clip(text), found }),
        None => Ok(()),
    }
}

fn check_hex(kind: &'static str, text: &str) -> Result<(), NameError> {
    let hex = text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    if hex && matches!(text.len(), 40 | 64) {
        return Ok(());
    }
    Err(NameError::Hex { kind, text: clip(text) })
}

/// Limits how much of the input an error message quotes.
fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_labels() {
        check::<SiteName>("plant-b", "ok");
        check::<SiteName>("", "a site name has 1 to 63 characters, `` has 0");
        check::<NodeName>(
            "Press 1",
            "a node name has lower-case letters, digits and inner dashes only, `Press 1` has `P`",
        );
        check::<DeploymentName>(
            "-x",
            "a deployment name has lower-case letters, digits and inner dashes only, `-x` has `-`",
        );
        check::<NodeName>(
            "..",
            "a node name has lower-case letters, digits and inner dashes only, `..` has `.`",
        );
    }

    #[test]
    fn commit_ids_are_hex_of_either_hash() {
        check::<GitRevision>("3f2a1c0000000000000000000000000000000000", "ok");
        check::<GitRevision>(
            "HEAD",
            "a commit id is 40 or 64 lower-case hex digits, `HEAD` is not",
        );
    }

    #[test]
    fn long_input_is_clipped_in_the_message() {
        let error = "é".repeat(5000).parse::<SiteName>().expect_err("too long");
        assert!(error.to_string().len() < 300);
    }

    #[track_caller]
    fn check<T: FromStr<Err = NameError> + fmt::Display>(text: &str, expected: &str) {
        let actual = match text.parse::<T>() {
            Ok(name) => {
                assert_eq!(name.to_string(), text);
                "ok".to_owned()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected);
    }
}
