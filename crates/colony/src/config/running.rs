//! The settings of a running role, stored for `colony config show`.
//!
//! A role keeps `<data>/run/<role>.json` locked while it runs, so that a file
//! left behind by a dead process is not mistaken for a running one.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::Config;

/// The largest file that is read.
const LIMIT: u64 = 1 << 20;

/// A setting of a role, without passwords.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Where the value comes from.
    pub(crate) origin: String,
}

/// The lock of a running role; its file is removed with it.
#[derive(Debug)]
pub(crate) struct Running {
    path: PathBuf,
    _lock: File,
}

impl Running {
    /// Stores the settings of `role`; `None` if it is already running.
    pub(crate) fn record(role: &str, config: &Config) -> anyhow::Result<Option<Running>> {
        let path = path(&config.data(), role);
        let doing = || format!("could not write {}", path.display());
        // The data directory belongs to the role, which chooses its modes.
        std::fs::create_dir_all(config.data()).with_context(doing)?;
        let folder = path.parent().context("a file has a folder")?;
        DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(doing)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).with_context(doing)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error).with_context(doing),
        }
        let settings: Vec<Setting> = settings(config).collect();
        file.set_len(0).with_context(doing)?;
        file.rewind().with_context(doing)?;
        file.write_all(&serde_json::to_vec_pretty(&settings)?).with_context(doing)?;
        Ok(Some(Running { path, _lock: file }))
    }

    /// The settings of `role`, if it runs with this data directory.
    pub(crate) fn find(data: &Path, role: &str) -> anyhow::Result<Option<Vec<Setting>>> {
        let path = path(data, role);
        let doing =
            || format!("could not read the settings of the running {role}, {}", path.display());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(doing),
        };
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return Ok(None);
        }
        let mut text = String::new();
        file.take(LIMIT).read_to_string(&mut text).with_context(doing)?;
        Ok(Some(serde_json::from_str(&text).with_context(doing)?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A file that stays behind is not locked, so it is ignored.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn path(data: &Path, role: &str) -> PathBuf {
    data.join("run").join(format!("{role}.json"))
}

/// All settings as they may be shown.
pub(crate) fn settings(config: &Config) -> impl Iterator<Item = Setting> {
    config.all().map(|(key, value, origin)| Setting {
        name: key.name.to_owned(),
        value: colony_wfm::login::masked(value),
        origin: origin.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_only_while_the_role_runs() {
        let dir = tempfile::tempdir().expect("a directory");
        let flags = [
            ("data", "data", Some(dir.path().display().to_string())),
            ("node.name", "name", Some("b1".to_owned())),
        ];
        let config = Config::load(None, |_| None, &flags).expect("it loads");
        let find = || Running::find(dir.path(), "node").expect("readable");
        assert_eq!(find(), None);
        let running = Running::record("node", &config).expect("writable").expect("the first");
        let name = |all: Vec<Setting>| all.into_iter().find(|it| it.name == "node.name");
        let expected = Setting {
            name: "node.name".to_owned(),
            value: "b1".to_owned(),
            origin: "--name".to_owned(),
        };
        assert_eq!(find().and_then(name), Some(expected));
        assert!(Running::record("node", &config).expect("readable").is_none(), "it runs already");
        assert!(find().is_some());
        drop(running);
        assert_eq!(find(), None);
        std::fs::write(dir.path().join("run/node.json"), "[]").expect("writable");
        assert_eq!(find(), None, "what a crash leaves behind is not running");
    }
}
