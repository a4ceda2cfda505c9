//! The binary: arguments, configuration, wiring.
//!
//! `role` starts the three roles, `cli`, `command` and `output` are the
//! commands of operators and site engineers. Settings are read here, once,
//! and passed on as values.

#![cfg_attr(
    doc,
    expect(
        rustdoc::bare_urls,
        rustdoc::invalid_html_tags,
        reason = "comments of arguments are help texts, for terminals"
    )
)]

#[cfg(feature = "site")]
mod address;
#[cfg(feature = "site")]
mod cli;
#[cfg(feature = "site")]
mod command;
mod config;
mod log;
#[cfg(feature = "site")]
mod output;
mod role;
mod show;
mod terminal;
mod tool;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use tool::Tool;

/// EX_USAGE of sysexits, distinct from the exit codes of commands.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let tool = match Tool::try_parse() {
        Ok(tool) => tool,
        Err(error) => return misunderstood(&error),
    };
    match tool::run(tool) {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("colony: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints an error. Control characters are removed, since a part of it may come
/// from a server.
fn complain(text: &str) {
    let mut stderr = std::io::stderr();
    let text = if stderr.is_terminal() { terminal::printable(text) } else { text.to_owned() };
    // The reader may be gone.
    let _ = writeln!(stderr, "{text}");
}

/// Help and version are successes; everything else is a usage error.
fn misunderstood(error: &clap::Error) -> ExitCode {
    // The reader may be gone.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

/// Prints a line for the user that started a role.
fn say(text: &str) {
    // The reader may be gone.
    let _ = writeln!(std::io::stdout(), "{text}");
}
