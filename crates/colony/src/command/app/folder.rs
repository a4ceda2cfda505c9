//! A package on disk: `margo.yaml` and a folder per compose component.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use colony_core::margo::component::Component;
use colony_core::margo::{ApplicationDescription, Finding, Severity};
use colony_runtime::compose::{Archive, Limits};

/// Size limit of a package's description, the same as in the catalog.
const FILE_LIMIT: u64 = 1 << 20;
pub(super) const DESCRIPTION: &str = "margo.yaml";
pub(super) const COMPOSE: &str = "compose.yaml";
/// How deep the files of a component may be nested.
const DEPTH: usize = 16;

/// A package that can be read.
pub(super) struct Package {
    folder: PathBuf,
    pub(super) description: ApplicationDescription,
}

/// A compose component of a package.
pub(super) struct ComposeComponent<'a> {
    pub(super) component: &'a Component,
    pub(super) folder: PathBuf,
}

impl Package {
    /// Reads the package in `folder`; its findings are the error.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Package> {
        let path = folder.join(DESCRIPTION);
        let bytes = read(&path, FILE_LIMIT)?;
        let parsed = ApplicationDescription::parse(&bytes);
        let parsed = parsed.map_err(|it| unusable(in_file(it, &path)))?;
        Ok(Package { folder: folder.to_owned(), description: parsed.value })
    }

    /// The components of all compose profiles, each revision of each once.
    pub(super) fn components(&self) -> Vec<ComposeComponent<'_>> {
        let profiles = self.description.profiles.iter().filter(|it| it.kind == "compose");
        let mut found: Vec<ComposeComponent<'_>> = Vec::new();
        for component in profiles.flat_map(|it| &it.components) {
            let folder = self.folder.join(component.name.as_str());
            let same = |it: &ComposeComponent<'_>| {
                it.component.name == component.name
                    && it.component.properties == component.properties
            };
            if !found.iter().any(same) {
                found.push(ComposeComponent { component, folder });
            }
        }
        found
    }

    /// The environment a component gets from the defaults of the parameters.
    pub(super) fn parameters(&self, component: &Component) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for parameter in self.description.parameters.values() {
            let text = match &parameter.value {
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let targets =
                parameter.targets.iter().filter(|it| it.components.contains(&component.name));
            found.extend(targets.map(|it| (it.pointer.clone(), text.clone())));
        }
        found
    }
}

impl ComposeComponent<'_> {
    /// The archive of its files, if nodes can use it.
    pub(super) fn archive(&self, parameters: &BTreeMap<String, String>) -> anyhow::Result<Vec<u8>> {
        let name = self.component.name.as_str();
        ensure!(
            self.folder.join(COMPOSE).is_file(),
            "component {name} has no {}; its files are expected there",
            self.folder.join(COMPOSE).display()
        );
        let bytes = pack(&self.folder, name)?;
        let findings = check(&bytes, parameters);
        let errors = |it: &Finding| it.severity == Severity::Error;
        match findings.iter().any(errors) {
            true => Err(unusable(in_folder(findings, &self.folder))),
            false => Ok(bytes),
        }
    }
}

/// The findings about an archive and its compose file.
pub(super) fn check(bytes: &[u8], parameters: &BTreeMap<String, String>) -> Vec<Finding> {
    let archive = match Archive::unpack(bytes) {
        Ok(archive) => archive,
        Err(findings) => return findings,
    };
    match archive.parse(parameters) {
        Ok(parsed) => parsed.warnings,
        Err(findings) => findings,
    }
}

/// The files below `folder` as one directory of a gzip tar. Names are sorted,
/// times and owners are left out: the same files give the same bytes.
pub(super) fn pack(folder: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut room = u64::try_from(Limits::default().total).unwrap_or(u64::MAX);
    collect(folder, name, DEPTH, &mut files, &mut room)?;
    let mut tar = tar::Builder::new(Vec::new());
    for (path, bytes) in &files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(u64::try_from(bytes.len())?);
        header.set_cksum();
        tar.append_data(&mut header, path, bytes.as_slice())?;
    }
    let tar = tar.into_inner()?;
    let mut gzip = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    gzip.write_all(&tar)?;
    Ok(gzip.finish()?)
}

fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut BTreeMap<String, Vec<u8>>,
    room: &mut u64,
) -> anyhow::Result<()> {
    ensure!(depth > 0, "{} lies too deep", folder.display());
    let doing = || format!("could not read the folder {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(doing)? {
        let entry = entry.with_context(doing)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(doing)?);
        let name = entry.file_name();
        let name = name.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        let inside = format!("{prefix}/{name}");
        match () {
            () if name == ".git" => {}
            () if kind.is_dir() => collect(&path, &inside, depth - 1, files, room)?,
            () if kind.is_file() => {
                let bytes = read(&path, *room)?;
                *room = room.saturating_sub(u64::try_from(bytes.len())?);
                files.insert(inside, bytes);
            }
            () => {
                bail!("{} is neither a file nor a folder; an archive holds these", path.display())
            }
        }
    }
    Ok(())
}

/// The content of a file of at most `limit` bytes.
pub(super) fn read(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let doing = || format!("could not read {}", path.display());
    let file = File::open(path).with_context(doing)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).with_context(doing)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    ensure!(length <= limit, "{} is larger than {limit} bytes", path.display());
    Ok(bytes)
}

/// The content of a description or compose file.
pub(super) fn read_text(path: &Path) -> anyhow::Result<Vec<u8>> {
    read(path, FILE_LIMIT)
}

pub(super) fn in_file(findings: Vec<Finding>, path: &Path) -> Vec<Finding> {
    let name = path.display().to_string();
    findings.into_iter().map(|it| it.in_file(&name)).collect()
}

/// Findings about files of an archive, with their paths on this machine.
pub(super) fn in_folder(findings: Vec<Finding>, folder: &Path) -> Vec<Finding> {
    let place = |it: Finding| {
        let path = match &it.file {
            Some(file) => folder.join(file),
            None => folder.join(COMPOSE),
        };
        it.in_file(&path.display().to_string())
    };
    findings.into_iter().map(place).collect()
}

fn unusable(findings: Vec<Finding>) -> anyhow::Error {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("the package cannot be used:\n{}", lines.join("\n"))
}
