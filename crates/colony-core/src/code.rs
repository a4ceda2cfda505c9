//! Error codes: what went wrong, and what has to change before a retry helps.
//!
//! The table is published in `docs/error-codes.md`. *Environment* errors are
//! retried without limit and never count against a revision. *Revision* errors
//! spend tries and may cause a rollback. *Device* errors mean that device and
//! revision do not fit, and wait until one of them changes. An unknown code (a
//! device of another vendor) counts as environment, so that only a revision
//! that is proven bad is quarantined.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What has to change before a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Environment,
    Revision,
    Device,
}

macro_rules! codes {
    ($($variant:ident = $text:literal, $class:ident, $meaning:literal, $remedy:literal;)*) => {
        /// What went wrong.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
            /// A code that is not in the table, kept as reported.
            Foreign(String),
        }

        impl Code {
            /// Every code of the table, in the published order.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            pub fn as_str(&self) -> &str {
                match self {
                    $(Code::$variant => $text,)*
                    Code::Foreign(text) => text,
                }
            }

            pub fn class(&self) -> Class {
                match self {
                    $(Code::$variant => Class::$class,)*
                    Code::Foreign(_) => Class::Environment,
                }
            }

            /// The meaning of the code, as a clause.
            pub fn meaning(&self) -> &'static str {
                match self {
                    $(Code::$variant => $meaning,)*
                    Code::Foreign(_) => "the device reported a code of its own",
                }
            }

            /// What an operator can do about it.
            pub fn remedy(&self) -> &'static str {
                match self {
                    $(Code::$variant => $remedy,)*
                    Code::Foreign(_) => "look the code up in the device's manual",
                }
            }
        }
    };
}

codes! {
    PullTimeout = "pull-timeout", Environment, "an image or archive did not arrive in time", "check the connection to the registry";
    RegistryUnavailable = "registry-unavailable", Environment, "the registry answered with a server error or not at all", "check the registry";
    RegistryDenied = "registry-denied", Environment, "the registry does not let the node read the image or archive", "put credentials for the registry into a file that the message names, such as that of `node.registry-credentials`, or allow reading without credentials";
    DiskFull = "disk-full", Environment, "the device has too little free disk", "free disk space on the device";
    EngineUnavailable = "engine-unavailable", Environment, "the container engine does not answer", "start the container engine on the device";
    EngineError = "engine-error", Environment, "the container engine refused for a reason of its own", "read the engine's message";
    PortInUse = "port-in-use", Environment, "a host port is taken by something else", "free the port or change the deployment's port";
    Interference = "interference", Environment, "a container was stopped or removed from outside", "find out what does it: the node starts the container again";
    NodeOffline = "node-offline", Environment, "the node went silent during the attempt", "bring the node back";
    ProgressDeadline = "progress-deadline", Environment, "the node did not finish in time", "look at the node's logs";
    NodeShutdown = "node-shutdown", Environment, "the node was stopped during the attempt", "nothing: it is tried again";
    ImageMissing = "image-missing", Revision, "the image or archive does not exist", "push it, or deploy another version";
    ArchiveInvalid = "archive-invalid", Revision, "the component's archive breaks the package rules", "publish a corrected archive";
    InvalidConfig = "invalid-config", Revision, "the configuration cannot be applied", "correct the deployment";
    UnsupportedKey = "unsupported-key", Revision, "the compose file uses a key that is not supported", "remove the key or use another device";
    NotEligible = "not-eligible", Device, "the device does not meet the deployment's constraints", "choose another node or profile";
    Exited = "exited", Revision, "a container ended", "look at the container's logs";
    Unhealthy = "unhealthy", Revision, "the health check does not pass", "look at the container's logs";
    ComponentTimeout = "component-timeout", Revision, "a component did not become healthy within its timeout", "look at the container's logs and at the load of the node, or raise the timeout";
    RolledBack = "rolled-back", Revision, "an operator rolled the revision back", "release the quarantine to try it again";
    RemovalFailed = "removal-failed", Environment, "the workload could not be removed", "look at the engine on the device";
    UnknownChild = "101", Environment, "the gateway does not know the device", "check the device's name";
    ChildUnreachable = "102", Environment, "the gateway cannot reach the device", "bring the device back";
    PlacementUnsupported = "103", Revision, "the gateway does not choose devices itself", "name the device in the deployment";
}

/// The longest foreign code that is kept.
const FOREIGN_LIMIT: usize = 64;

impl FromStr for Code {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Code, Self::Err> {
        let known = Code::ALL.iter().find(|it| it.as_str() == text).cloned();
        Ok(known.unwrap_or_else(|| Code::Foreign(text.chars().take(FOREIGN_LIMIT).collect())))
    }
}

impl From<String> for Code {
    fn from(text: String) -> Code {
        let Ok(code) = text.parse();
        code
    }
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.as_str().to_owned()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_as_written() {
        for code in Code::ALL {
            assert_eq!(&Code::from(code.to_string()), code);
        }
        assert_eq!(Code::from("E4711".to_owned()), Code::Foreign("E4711".to_owned()));
    }

    #[test]
    fn an_unknown_code_condemns_no_revision() {
        assert_eq!(Code::Foreign("E4711".to_owned()).class(), Class::Environment);
    }

    #[test]
    fn the_document_prints_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/error-codes.md");
        let document = std::fs::read_to_string(path).expect("docs/error-codes.md is readable");
        let table = markdown();
        assert!(document.contains(&table), "docs/error-codes.md should contain:\n\n{table}");
    }

    /// The table as `docs/error-codes.md` prints it.
    fn markdown() -> String {
        let head = "| code | class | meaning | what helps |\n| --- | --- | --- | --- |\n";
        Code::ALL.iter().fold(head.to_owned(), |text, it| {
            let class = format!("{:?}", it.class()).to_lowercase();
            text + &format!("| `{it}` | {class} | {} | {} |\n", it.meaning(), it.remedy())
        })
    }
}
