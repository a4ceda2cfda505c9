//! One `margo.yaml`: a package, or its findings.

use colony_core::margo::yaml::{self, Cursor, Limits};
use colony_core::margo::{ApplicationDescription, Digest, Finding, Findings};
use colony_core::time::Timestamp;
use colony_store::Package;
use serde::{Deserialize, Serialize};

/// A package that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Broken {
    /// The folder of the package.
    pub path: String,
    /// The application, if that much of the file can be read.
    pub application: Option<String>,
    pub findings: Vec<Finding>,
}

/// Reads a package of a registry.
pub(super) fn read(
    registry: &str,
    path: &str,
    text: &[u8],
    at: Timestamp,
) -> Result<Package, Box<Broken>> {
    let file = file_of(path);
    let parsed = ApplicationDescription::parse(text).map_err(|findings| {
        let findings = findings.into_iter().map(|it| it.in_file(&file)).collect();
        Box::new(Broken { path: path.to_owned(), application: id_of(text), findings })
    })?;
    let description = parsed.value;
    Ok(Package {
        application: description.id.to_string(),
        version: description.metadata.version.clone(),
        name: description.metadata.name.clone(),
        registry: registry.to_owned(),
        path: path.to_owned(),
        digest: Digest::of(text),
        at,
        text: String::from_utf8_lossy(text).into_owned(),
    })
}

/// The errors and warnings of a description.
pub(crate) fn lint(text: &[u8], file: Option<&str>) -> Vec<Finding> {
    let findings = match ApplicationDescription::parse(text) {
        Ok(parsed) => parsed.warnings,
        Err(findings) => findings,
    };
    let named = |it: Finding| match file {
        Some(file) => it.in_file(file),
        None => it,
    };
    findings.into_iter().map(named).collect()
}

pub(super) fn file_of(path: &str) -> String {
    if path.is_empty() { "margo.yaml".to_owned() } else { format!("{path}/margo.yaml") }
}

/// The application a broken description is probably about.
fn id_of(text: &[u8]) -> Option<String> {
    let root = yaml::parse(text, &Limits::default()).ok()?;
    let findings = Findings::new();
    let id = Cursor::root(&root, &findings).field("id")?;
    id.string()
}
