//! Logs of the roles, to standard error.
//!
//! Filtered by level and target. Filters by the fields of spans would bring a
//! compiler of regular expressions into the smallest node.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Config;

pub(crate) fn start(config: &Config) -> anyhow::Result<()> {
    let level = config.get("log.level").unwrap_or("info");
    let filter: Targets =
        level.parse().with_context(|| format!("`{level}` cannot be used as log.level"))?;
    let colours = std::io::stderr().is_terminal();
    let logs = fmt::layer().with_ansi(colours).with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    match config.get("log.format") {
        Some("json") => registry.with(logs.json()).init(),
        Some("text") | None => registry.with(logs.with_target(false)).init(),
        Some(other) => bail!("`{other}` cannot be used as log.format; text or json"),
    }
    Ok(())
}
