//! `colony config show`: every setting, and its origin.
//!
//! A setting of a role that runs with the same data directory is shown with the
//! value at the start of that role; others with the value that a role started
//! here would get.

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::config::running::{Running, Setting, settings};
use crate::config::{Config, keys};

/// Which roles use a setting, by the first part of its name.
const USERS: &[(&str, &[&str])] = &[
    ("central", &["up", "central"]),
    ("local", &["up", "local"]),
    ("node", &["up", "node"]),
    ("git", &["up", "central", "local"]),
    ("data", &["up", "central", "local", "node"]),
    ("log", &["up", "central", "local", "node"]),
];

/// A line of `config show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    setting: Setting,
    /// The running role that uses the value.
    role: Option<String>,
    help: String,
}

/// All settings, in order.
pub(crate) fn rows(config: &Config) -> anyhow::Result<Vec<Row>> {
    let mut running = Vec::new();
    for role in ["up", "central", "local", "node"] {
        running.extend(Running::find(&config.data(), role)?.map(|it| (role, it)));
    }
    let row = |setting: Setting| -> anyhow::Result<Row> {
        let taken = users(&setting.name).iter().find_map(|role| {
            let (_, all) = running.iter().find(|it| it.0 == *role)?;
            Some((*role, all.iter().find(|it| it.name == setting.name)?.clone()))
        });
        let help = keys::find(&setting.name).context("every setting is listed")?.help.to_owned();
        Ok(match taken {
            Some((role, setting)) => Row { setting, role: Some(role.to_owned()), help },
            None => Row { setting, role: None, help },
        })
    };
    settings(config).map(row).collect()
}

fn users(name: &str) -> &'static [&'static str] {
    let group = name.split('.').next().unwrap_or_default();
    USERS.iter().find(|it| it.0 == group).map_or(&[], |it| it.1)
}

/// The rows as aligned columns.
pub(crate) fn table(rows: &[Row]) -> String {
    let header = ["SETTING", "VALUE", "FROM", "ROLE", "MEANS"].map(str::to_owned);
    let dash = |it: &str| if it.is_empty() { "-".to_owned() } else { it.to_owned() };
    let row = |it: &Row| {
        let Setting { name, value, origin } = &it.setting;
        let role = it.role.as_deref().unwrap_or_default();
        [name.clone(), dash(value), origin.clone(), dash(role), it.help.clone()]
    };
    let lines: Vec<[String; 5]> = std::iter::once(header).chain(rows.iter().map(row)).collect();
    let widths: Vec<usize> =
        (0..5).map(|at| lines.iter().map(|it| it[at].chars().count()).max().unwrap_or(0)).collect();
    let line = |cells: &[String; 5]| {
        let cells = cells.iter().zip(&widths).map(|(it, width)| format!("{it:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_role_is_shown_with_its_own_settings() {
        let dir = tempfile::tempdir().expect("a directory");
        let data = || ("data", "data", Some(dir.path().display().to_string()));
        let listen = ("central.listen", "listen", Some("0.0.0.0:1".to_owned()));
        let central = Config::load(None, |_| None, &[data(), listen]).expect("it loads");
        let here = Config::load(None, |_| None, &[data()]).expect("it loads");
        check(&here, "central.listen", "127.0.0.1:7443 default -");
        let running = Running::record("central", &central).expect("writable");
        check(&here, "central.listen", "0.0.0.0:1 --listen central");
        check(&here, "git.branch", "main default central");
        check(&here, "node.engine", "auto default -");
        drop(running);
        check(&here, "central.listen", "127.0.0.1:7443 default -");
    }

    #[track_caller]
    fn check(config: &Config, name: &str, expected: &str) {
        let rows = rows(config).expect("readable");
        let row = rows.iter().find(|it| it.setting.name == name).expect("a setting");
        let Setting { value, origin, .. } = &row.setting;
        let role = row.role.as_deref().unwrap_or("-");
        assert_eq!(format!("{value} {origin} {role}"), expected);
        let line = table(&rows).lines().find(|it| it.starts_with(name)).map(str::to_owned);
        let words =
            line.map(|it| it.split_whitespace().skip(1).take(3).collect::<Vec<_>>().join(" "));
        assert_eq!(words.as_deref(), Some(expected));
    }
}
