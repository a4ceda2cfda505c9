//! The context file: servers by name, with what is needed to get in.
//!
//! Written by `colony up` and `colony central` for the person who starts them,
//! and by hand. It holds tokens: only its owner can read it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde::{Deserialize, Serialize};

/// Look at contexts or change which one is used
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// The servers this machine knows
    List,
    /// Ask this one from now on
    Use { name: String },
}

/// All servers that are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default, rename = "context")]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// One server, or the socket of a local orchestrator.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Context {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// The fleet's CA, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) socket: Option<PathBuf>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut it = f.debug_struct("Context");
        it.field("server", &self.server).field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Contexts {
    /// What is in the file; nothing if there is none.
    pub(crate) fn load(path: &Path) -> anyhow::Result<Contexts> {
        let doing = || format!("could not read the context file {}", path.display());
        match fs::read_to_string(path) {
            Ok(text) => Contexts::parse(&text).with_context(doing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Contexts::default()),
            Err(error) => Err(error).with_context(doing),
        }
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Contexts> {
        Ok(toml::from_str(text)?)
    }

    /// The context of that name, or the current one.
    pub(crate) fn get(&self, name: Option<&str>) -> anyhow::Result<Option<&Context>> {
        let Some(name) = name.or(self.current.as_deref()) else { return Ok(None) };
        let Some(found) = self.contexts.get(name) else {
            let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("there is no context `{name}`; there are: {names}");
        };
        Ok(Some(found))
    }

    /// Adds or replaces a context and makes it the one that is used.
    #[cfg(feature = "full")]
    pub(crate) fn put(&mut self, name: &str, context: Context) {
        self.contexts.insert(name.to_owned(), context);
        self.current = Some(name.to_owned());
    }

    /// Replaces the file as a whole, readable by its owner alone.
    pub(crate) fn save(&self, path: &Path) -> anyhow::Result<()> {
        let doing = || format!("could not write the context file {}", path.display());
        let text = toml::to_string(self).with_context(doing)?;
        write_private(path, text.as_bytes()).with_context(doing)
    }
}

/// `$COLONY_CONTEXTS`, or `contexts.toml` in the user's configuration.
pub(crate) fn path() -> anyhow::Result<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    if let Some(path) = of("COLONY_CONTEXTS") {
        return Ok(path);
    }
    let folder = of("XDG_CONFIG_HOME").or_else(|| of("HOME").map(|it| it.join(".config")));
    let folder = folder.context("no home directory is known: set HOME or COLONY_CONTEXTS")?;
    Ok(folder.join("colony").join("contexts.toml"))
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(folder) = folder {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    colony_process::file::replace(path, bytes, 0o600)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_saved_is_loaded_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("colony").join("contexts.toml");
        assert_eq!(Contexts::load(&path).unwrap(), Contexts::default());

        let mut contexts = Contexts::default();
        let server = Some("https://hub:7443".to_owned());
        contexts.put("hub", Context { server, token: Some("t".into()), ..Context::default() });
        contexts.save(&path).unwrap();

        assert_eq!(Contexts::load(&path).unwrap(), contexts);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
