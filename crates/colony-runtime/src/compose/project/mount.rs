//! What a service sees of the machine in its file tree.

use serde::{Deserialize, Serialize};

/// Something of the host in a container's file tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub kind: MountKind,
    /// An absolute path of the host, or a name in [`Project::volumes`](super::Project::volumes); a
    /// volume without a source has no name.
    pub source: Option<String>,
    pub target: String,
    pub read_only: bool,
    #[serde(flatten)]
    pub options: MountOptions,
}

/// The rarer options of a mount.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MountOptions {
    /// Of a bind mount, such as `rslave`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Propagation>,
    /// The label of SELinux that a bind mount gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relabel: Option<Relabel>,
    /// A missing source of a bind mount is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub source_must_exist: bool,
    /// An empty volume stays empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_copy: bool,
    /// In bytes, of a mount of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Permission bits of a mount of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// Whether mounts below a bind mount are passed on, with those below them or
/// without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Propagation {
    Private,
    RPrivate,
    Shared,
    RShared,
    Slave,
    RSlave,
}

impl Propagation {
    pub const ALL: [Propagation; 6] = [
        Propagation::Private,
        Propagation::RPrivate,
        Propagation::Shared,
        Propagation::RShared,
        Propagation::Slave,
        Propagation::RSlave,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Propagation::Private => "private",
            Propagation::RPrivate => "rprivate",
            Propagation::Shared => "shared",
            Propagation::RShared => "rshared",
            Propagation::Slave => "slave",
            Propagation::RSlave => "rslave",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relabel {
    /// `z`: several containers may use it.
    Shared,
    /// `Z`
    Private,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MountKind {
    Bind,
    #[default]
    Volume,
    Tmpfs,
}
