//! Logs of the roles, to standard error.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use tracing_subscriber::EnvFilter;

use crate::config::Config;

pub(crate) fn start(config: &Config) -> anyhow::Result<()> {
    let level = config.get("log.level").unwrap_or("info");
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("`{level}` cannot be used as log.level"))?;
    let colours = std::io::stderr().is_terminal();
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours);
    let logs = logs.with_writer(std::io::stderr);
    match config.get("log.format") {
        Some("json") => logs.json().init(),
        Some("text") | None => logs.with_target(false).init(),
        Some(other) => bail!("`{other}` cannot be used as log.format; text or json"),
    }
    Ok(())
}
