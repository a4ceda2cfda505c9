//! The keys of a compose file: which are supported, and why others are not.
//!
//! The tables are published in `docs/compose.md`, and readers refuse every key
//! that is not in the first one. Keys that begin with `x-` are ignored, as in
//! Compose.

mod refused;
mod supported;

use std::fmt;

use colony_core::margo::Finding;
use colony_core::margo::yaml::{self, Cursor, Entry, Node, Style, Value};

pub use refused::REFUSED;
pub use supported::SUPPORTED;

/// A mapping of a compose file that has keys of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySection {
    File,
    Service,
    EnvFile,
    Port,
    Mount,
    BindOptions,
    VolumeOptions,
    TmpfsOptions,
    ConfigMount,
    SecretMount,
    Attachment,
    Dependency,
    Healthcheck,
    Ulimit,
    Device,
    Extends,
    Logging,
    LogOptions,
    BlockIo,
    BlockIoWeight,
    BlockIoRate,
    Gpu,
    Deploy,
    Resources,
    ResourceLimits,
    Reservations,
    ReservedDevice,
    Network,
    Ipam,
    AddressPool,
    Volume,
    Config,
    Secret,
}

/// A key that is supported, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supported {
    pub place: KeySection,
    pub name: &'static str,
    pub takes: &'static str,
}

/// A key of Compose that is refused: why, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub place: KeySection,
    pub name: &'static str,
    pub reason: &'static str,
    pub instead: &'static str,
}

impl fmt::Display for KeySection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            KeySection::File => "",
            KeySection::Service => "services.*.",
            KeySection::EnvFile => "services.*.env_file[].",
            KeySection::Port => "services.*.ports[].",
            KeySection::Mount => "services.*.volumes[].",
            KeySection::BindOptions => "services.*.volumes[].bind.",
            KeySection::VolumeOptions => "services.*.volumes[].volume.",
            KeySection::TmpfsOptions => "services.*.volumes[].tmpfs.",
            KeySection::ConfigMount => "services.*.configs[].",
            KeySection::SecretMount => "services.*.secrets[].",
            KeySection::Attachment => "services.*.networks.*.",
            KeySection::Dependency => "services.*.depends_on.*.",
            KeySection::Healthcheck => "services.*.healthcheck.",
            KeySection::Ulimit => "services.*.ulimits.*.",
            KeySection::Device => "services.*.devices[].",
            KeySection::Extends => "services.*.extends.",
            KeySection::Logging => "services.*.logging.",
            KeySection::LogOptions => "services.*.logging.options.",
            KeySection::BlockIo => "services.*.blkio_config.",
            KeySection::BlockIoWeight => "services.*.blkio_config.weight_device[].",
            KeySection::BlockIoRate => "services.*.blkio_config.device_*[].",
            KeySection::Gpu => "services.*.gpus[].",
            KeySection::Deploy => "services.*.deploy.",
            KeySection::Resources => "services.*.deploy.resources.",
            KeySection::ResourceLimits => "services.*.deploy.resources.limits.",
            KeySection::Reservations => "services.*.deploy.resources.reservations.",
            KeySection::ReservedDevice => "services.*.deploy.resources.reservations.devices[].",
            KeySection::Network => "networks.*.",
            KeySection::Ipam => "networks.*.ipam.",
            KeySection::AddressPool => "networks.*.ipam.config[].",
            KeySection::Volume => "volumes.*.",
            KeySection::Config => "configs.*.",
            KeySection::Secret => "secrets.*.",
        })
    }
}

/// Refuses the keys of a mapping that are not supported at its place.
pub(super) fn check(cursor: &Cursor<'_>, place: KeySection) {
    let Value::Map(_) = &cursor.node().value else { return };
    let known = || SUPPORTED.iter().filter(|it| it.place == place).map(|it| it.name);
    for entry in cursor.entries().unwrap_or_default() {
        if !entry.key.starts_with("x-") && !known().any(|it| it == entry.key) {
            refuse(&entry, place, &known().collect::<Vec<_>>());
        }
    }
}

fn refuse(entry: &Entry<'_>, place: KeySection, known: &[&str]) {
    let refused = REFUSED.iter().find(|it| it.place == place && it.name == entry.key);
    match refused {
        Some(it) => entry.key_error(format!("{NOT_SUPPORTED}: {}", it.reason), it.instead),
        None => {
            let problem = format!("{NOT_SUPPORTED}: {}", unknown(entry.key, known));
            entry.key_error(problem, "a key of the table in docs/compose.md");
        }
    }
}

const NOT_SUPPORTED: &str = "key is not supported";

/// Whether a finding is about a key that is not supported.
pub fn is_unsupported(finding: &Finding) -> bool {
    finding.problem.starts_with(NOT_SUPPORTED)
}

/// The problem of a name that is not in `known`, with the most similar known
/// one.
fn unknown(name: &str, known: &[&str]) -> String {
    let value = Value::Scalar { text: name.to_owned(), style: Style::Quoted };
    let node = Node { line: 0, column: 0, value };
    let asked = yaml::read_node(&node, |it| it.one_of(known));
    let finding = asked.err().and_then(|it| it.into_iter().next());
    finding.map(|it| it.problem).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::engine_limits::{self, ENGINE_LIMITS};
    use crate::config::EngineKind;

    #[test]
    fn the_document_prints_these_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compose.md");
        let document = std::fs::read_to_string(path).expect("docs/compose.md is readable");
        for table in [supported_markdown(), limits_markdown(), refused_markdown()] {
            assert!(document.contains(&table), "docs/compose.md should contain:\n\n{table}");
        }
    }

    #[test]
    fn no_key_is_both_supported_and_refused_or_twice_in_the_tables() {
        let supported = SUPPORTED.iter().map(|it| (it.place, it.name));
        let all: Vec<_> = supported.chain(REFUSED.iter().map(|it| (it.place, it.name))).collect();
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len());
    }

    /// A limit of a key that is not there would never apply.
    #[test]
    fn limits_of_engines_are_about_supported_keys() {
        for limit in ENGINE_LIMITS {
            let same = |it: &&Supported| (it.place, it.name) == (limit.place, limit.name);
            assert!(SUPPORTED.iter().any(|it| same(&it)), "{}{}", limit.place, limit.name);
        }
    }

    /// The supported keys as `docs/compose.md` prints them.
    fn supported_markdown() -> String {
        let engines = [EngineKind::Docker, EngineKind::Podman, EngineKind::Containerd];
        let head =
            "| key | takes | Docker | Podman | containerd |\n| --- | --- | --- | --- | --- |\n";
        SUPPORTED.iter().fold(head.to_owned(), |text, it| {
            let extents = engines.map(|engine| engine_limits::extent(engine, it.place, it.name));
            let (path, extents) = (format!("{}{}", it.place, it.name), extents.join(" | "));
            text + &format!("| `{path}` | {} | {extents} |\n", it.takes)
        })
    }

    /// What engines cannot do, as `docs/compose.md` prints it.
    fn limits_markdown() -> String {
        let head = "| engine | key | values | why | what would be right |\n| --- | --- | --- | --- | --- |\n";
        ENGINE_LIMITS.iter().fold(head.to_owned(), |text, it| {
            let values = if it.values.is_empty() { "all" } else { it.values };
            let path = format!("{}{}", it.place, it.name);
            text + &format!(
                "| {} | `{path}` | {values} | {} | {} |\n",
                it.engine, it.reason, it.instead
            )
        })
    }

    /// The refused keys as `docs/compose.md` prints them.
    fn refused_markdown() -> String {
        let head = "| key | why | what would be right |\n| --- | --- | --- |\n".to_owned();
        REFUSED.iter().fold(head, |text, it| {
            text + &format!("| `{}{}` | {} | {} |\n", it.place, it.name, it.reason, it.instead)
        })
    }
}
