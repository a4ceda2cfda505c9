//! Small things that are typed as one word.

use std::str::FromStr;
use std::time::Duration;

/// How long to watch; shared by everything that can.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Patience {
    /// Watch no longer than this; what is not done by then goes on, exit code 5
    #[arg(long, requires = "watch", value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// A node, as `<site>/<node>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeRef {
    pub(crate) site: String,
    pub(crate) node: String,
}

impl FromStr for NodeRef {
    type Err = String;
    fn from_str(text: &str) -> Result<NodeRef, String> {
        match text.split_once('/') {
            Some((site, node)) if !site.is_empty() && !node.is_empty() && !node.contains('/') => {
                Ok(NodeRef { site: site.to_owned(), node: node.to_owned() })
            }
            _ => Err("expected SITE/NODE, such as home/laptop".to_owned()),
        }
    }
}

impl std::fmt::Display for NodeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.site, self.node)
    }
}

/// `key=value`; the value may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Setting {
    type Err = String;
    fn from_str(text: &str) -> Result<Setting, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Setting { key: key.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err("expected KEY=VALUE".to_owned()),
        }
    }
}

/// How long: `90s`, `10m`, `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    lifetime(text).map(Duration::from_secs)
}

/// A time to live: `90s`, `30m`, `1h`, `7d`.
pub(super) fn lifetime(text: &str) -> Result<u64, String> {
    let wrong = || "expected a time such as 30m, 1h or 7d".to_owned();
    let at = text.find(|it: char| !it.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = text[..at].parse().map_err(|_| wrong())?;
    let unit = match &text[at..] {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    number.checked_mul(unit).filter(|it| *it > 0).ok_or_else(wrong)
}
