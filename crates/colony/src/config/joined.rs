//! The flags that a role joined with, kept for its next starts: the address of
//! a site or the labels of a node have to stay the same.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Config, Origin, file};
use crate::role::Flag;

/// The roles that join.
const ROLES: [&str; 2] = ["local", "node"];

impl Config {
    /// Stores the flags given at a join, for starts without them. A second join
    /// keeps the flags of the first one, unless it overrides them.
    pub(crate) fn keep_joined(&self, role: &str, flags: &[Flag]) -> anyhow::Result<()> {
        let mut tables = toml::Table::new();
        for (name, _, value) in flags {
            let kept = || self.get(name).filter(|_| self.is_of_join(name)).map(str::to_owned);
            let value = value.clone().or_else(kept);
            let (Some(value), Some((table, key))) = (value, name.split_once('.')) else { continue };
            let table = tables.entry(table).or_insert_with(|| toml::Table::new().into());
            if let Some(table) = table.as_table_mut() {
                table.insert(key.to_owned(), value.into());
            }
        }
        let path = path(&self.data(), role);
        Ok(colony_wfm::file::write_secret(&path, &tables.to_string())?)
    }

    fn is_of_join(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|it| matches!(it.1, Origin::Join(_)))
    }

    /// The flags of a join apply where nothing else is set.
    pub(super) fn take_joined(&mut self) -> anyhow::Result<()> {
        for role in ROLES {
            let path = path(&self.data(), role);
            let Some(text) = colony_wfm::file::read(&path)? else { continue };
            let entries = file::read(&text).with_context(|| format!("in {}", path.display()))?;
            for (name, value) in entries {
                if self.values.get(name).is_some_and(|it| it.1 == Origin::Default) {
                    self.set(name, value, Origin::Join(path.clone()));
                }
            }
        }
        Ok(())
    }
}

fn path(data: &Path, role: &str) -> PathBuf {
    data.join(role).join("joined.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_join_count_below_everything_that_is_set() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("node")).expect("writable");
        let flag = |name, flag, value: &str| (name, flag, Some(value.to_owned()));
        let data = flag("data", "data", &dir.path().display().to_string());
        let load = |more: &[Flag]| {
            let flags: Vec<Flag> = more.iter().cloned().chain([data.clone()]).collect();
            Config::load(None, |_| None, &flags).expect("it loads")
        };
        let given =
            [flag("node.labels", "label", "line=press,x=\"1\""), ("node.name", "name", None)];

        load(&given).keep_joined("node", &given).expect("writable");

        assert_eq!(load(&[]).get("node.labels"), Some("line=press,x=\"1\""));
        assert_eq!(load(&[]).get("node.name"), None);
        let other = [flag("node.labels", "label", "line=weld")];
        assert_eq!(load(&other).get("node.labels"), Some("line=weld"));
        assert_eq!(load(&[]).get("node.labels"), Some("line=press,x=\"1\""), "kept as it was");

        let again = [("node.labels", "label", None), flag("node.name", "name", "a")];
        load(&again).keep_joined("node", &again).expect("writable");
        assert_eq!(load(&[]).get("node.labels"), Some("line=press,x=\"1\""), "also by a rejoin");
        assert_eq!(load(&[]).get("node.name"), Some("a"));
    }
}
