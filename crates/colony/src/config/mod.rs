//! Where settings come from: flags, environment, file, the flags of the join,
//! defaults, in this order. Read once at the start and passed on as values.

mod file;
mod joined;
pub(crate) mod keys;
pub(crate) mod running;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

pub(crate) use value::{bytes, list, pairs, seconds};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// The flags that the role joined with.
    Join(PathBuf),
    File(PathBuf),
    Environment(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Join(path) => write!(f, "--join, kept in {}", path.display()),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Environment(name) => write!(f, "${name}"),
            Origin::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// All settings, each with its origin.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Config {
    /// Reads the file (the usual one if none is named), the environment and
    /// the flags, given as (setting, flag, value).
    pub(crate) fn load(
        path: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
        flags: &[(&'static str, &'static str, Option<String>)],
    ) -> anyhow::Result<Config> {
        let mut values = BTreeMap::new();
        for key in keys::KEYS {
            values.insert(key.name, (key.default.to_owned(), Origin::Default));
        }
        values.insert("data", (default_data(&environment), Origin::Default));
        let mut config = Config { values };
        config.take_file(path, &environment)?;
        for key in keys::KEYS {
            if let Some(value) = environment(&key.variable()) {
                config.set(key.name, value, Origin::Environment(key.variable()));
            }
        }
        for (name, flag, value) in flags {
            if let Some(value) = value {
                config.set(name, value.clone(), Origin::Flag((*flag).to_owned()));
            }
        }
        config.take_joined()?;
        Ok(config)
    }

    fn take_file(
        &mut self,
        path: Option<&Path>,
        environment: &impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<()> {
        let (path, text) = match path {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                (
                    path.to_owned(),
                    text.with_context(|| format!("could not read {}", path.display()))?,
                )
            }
            None => match usual_files(environment).into_iter().find_map(read) {
                Some(found) => found,
                None => return Ok(()),
            },
        };
        let entries = file::read(&text).with_context(|| format!("in {}", path.display()))?;
        for (name, value) in entries {
            self.set(name, value, Origin::File(path.clone()));
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, value: String, origin: Origin) {
        self.values.insert(name, (value, origin));
    }

    /// The value of a setting; `None` if it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|it| it.0.as_str()).filter(|it| !it.is_empty())
    }

    pub(crate) fn data(&self) -> PathBuf {
        PathBuf::from(self.get("data").unwrap_or("."))
    }

    /// A value that can be parsed; the error names its origin.
    pub(crate) fn parse<T>(&self, name: &str) -> anyhow::Result<T>
    where
        T: std::str::FromStr<Err: fmt::Display>,
    {
        let Some((text, origin)) = self.values.get(name) else { bail!("no setting `{name}`") };
        let parsed = text.parse().map_err(|it| anyhow::anyhow!("{it}"));
        parsed.with_context(|| format!("`{text}` cannot be used as {name} (set by {origin})"))
    }

    /// The content of the file that a setting names, without the line's end.
    #[cfg(feature = "site")]
    pub(crate) fn secret(&self, name: &str) -> anyhow::Result<Option<String>> {
        let Some(path) = self.get(name) else { return Ok(None) };
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("could not read {path} (named by {name})"))?;
        Ok(Some(text.trim().to_owned()))
    }

    /// Every setting with its value and its origin, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static keys::Key, &str, &Origin)> {
        keys::KEYS.iter().filter_map(|key| {
            let (value, origin) = self.values.get(key.name)?;
            Some((key, value.as_str(), origin))
        })
    }
}

fn read(path: PathBuf) -> Option<(PathBuf, String)> {
    let text = std::fs::read_to_string(&path).ok()?;
    Some((path, text))
}

fn usual_files(environment: &impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let own = environment("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = own.or_else(|| environment("HOME").map(|it| PathBuf::from(it).join(".config")));
    let own = own.map(|it| it.join("colony/colony.toml"));
    own.into_iter().chain([PathBuf::from("/etc/colony/colony.toml")]).collect()
}

/// The usual folder of services for root, below the home directory for others.
fn default_data(environment: &impl Fn(&str) -> Option<String>) -> String {
    let home = environment("HOME").unwrap_or_else(|| "/".to_owned());
    if home == "/root" || home == "/" {
        return "/var/lib/colony".to_owned();
    }
    environment("XDG_DATA_HOME").unwrap_or_else(|| format!("{home}/.local/share")) + "/colony"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let file = "[node]\nengine = \"podman\"\nname = \"a\"\nlabels = [\"x=1\", \"y=2\"]\n";
        let set = [("COLONY_NODE_NAME", "b")];
        check(file, &set, Some("c"), "node.name", "c (--name)");
        check(file, &set, None, "node.name", "b ($COLONY_NODE_NAME)");
        check(file, &[], None, "node.engine", "podman (FILE)");
        check(file, &[], None, "node.labels", "x=1,y=2 (FILE)");
        check("", &[], None, "git.branch", "main (default)");
    }

    #[test]
    fn a_mistake_in_the_file_is_named_with_its_line() {
        refused(
            "[node]\nengin = \"podman\"\n",
            "line 2: there is no setting `node.engin`; did you mean `node.engine`?",
        );
        refused("[node\n", "TOML parse error at line 1");
        refused(
            "[node]\nname = { a = 1 }\n",
            "line 2: `node.name` is a text, a number, a boolean or a list",
        );
    }

    #[test]
    fn a_value_that_cannot_be_used_says_where_it_was_set() {
        let flags = [("central.listen", "listen", Some("everywhere".to_owned()))];
        let config = Config::load(None, |_| None, &flags).expect("it loads");
        let error = config.parse::<std::net::SocketAddr>("central.listen").expect_err("no address");
        assert!(format!("{error:#}").contains("(set by --listen)"), "{error:#}");
    }

    #[track_caller]
    fn check(file: &str, set: &[(&str, &str)], flag: Option<&str>, name: &str, expected: &str) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("colony.toml");
        std::fs::write(&path, file).expect("writable");
        let environment =
            |asked: &str| set.iter().find(|it| it.0 == asked).map(|it| it.1.to_owned());
        let flags = [("node.name", "name", flag.map(str::to_owned))];
        let config = Config::load(Some(&path), environment, &flags).expect("it loads");
        let (_, value, origin) = config.all().find(|it| it.0.name == name).expect("a setting");
        let text = format!("{value} ({origin})").replace(&path.display().to_string(), "FILE");
        assert_eq!(text, expected);
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = file::read(text).expect_err("it is refused");
        assert!(format!("{error:#}").contains(expected), "{error:#}");
    }
}
