//! How responses are printed: data to stdout, everything else to stderr.
//!
//! Rendering is pure: a view and a `RenderOptions` give a text. No information is in
//! colours alone. Output to a terminal is cleaned of control characters here,
//! before it is rendered; `--raw` leaves the data of logs as it is.

mod clean;
mod clock;
mod live;
mod table;
pub(super) mod view;
mod words;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead, IsTerminal, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use colony_core::time::Timestamp;

use crate::cli::Format;
use crate::terminal::printable;
pub(crate) use clock::now;
pub(crate) use live::Live;

/// The inputs of a rendering besides the view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenderOptions {
    /// More columns.
    pub(crate) wide: bool,
    pub(crate) now: Timestamp,
    /// Columns of the terminal; texts are not folded without one.
    pub(crate) width: Option<u16>,
    /// States may be coloured.
    pub(crate) colour: bool,
}

/// Where responses are printed.
pub(crate) struct Out {
    format: Format,
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    /// Stdout is a terminal.
    terminal: bool,
    /// Stderr is a terminal.
    stderr_terminal: bool,
    /// Data is printed as it came.
    raw: bool,
    colour: bool,
    /// A person can be asked.
    person: bool,
    clock: fn() -> Timestamp,
}

impl Out {
    /// The streams of the process.
    pub(crate) fn standard(format: Format) -> Out {
        Out {
            format,
            stdout: Box::new(io::stdout()),
            stderr: Box::new(io::stderr()),
            terminal: io::stdout().is_terminal(),
            stderr_terminal: io::stderr().is_terminal(),
            raw: false,
            colour: table::wants_colour(|name| std::env::var(name).ok()),
            person: io::stdin().is_terminal() && io::stderr().is_terminal(),
            clock: now,
        }
    }

    #[cfg(test)]
    pub(crate) fn buffers(
        format: Format,
        stdout: impl Write + Send + 'static,
        stderr: impl Write + Send + 'static,
    ) -> Out {
        let (stdout, stderr) = (Box::new(stdout), Box::new(stderr));
        Out {
            format,
            stdout,
            stderr,
            terminal: false,
            stderr_terminal: false,
            raw: false,
            colour: false,
            person: false,
            clock: sample::now,
        }
    }

    /// As on a terminal.
    #[cfg(test)]
    pub(crate) fn on_terminal(self) -> Out {
        Out { terminal: true, stderr_terminal: true, ..self }
    }

    /// Prints data with its control characters.
    pub(crate) fn set_raw(&mut self, raw: bool) {
        self.raw = raw;
    }

    pub(crate) fn look(&self) -> RenderOptions {
        let width = if self.terminal { table::terminal_width() } else { None };
        let colour = self.terminal && self.colour;
        RenderOptions { wide: self.format == Format::Wide, now: (self.clock)(), width, colour }
    }

    /// The format is a table, not JSON or YAML.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// A table can be redrawn in place.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal && self.is_for_people()
    }

    pub(crate) fn has_person(&self) -> bool {
        self.person
    }

    /// Prints the requested data, as a table or as JSON or YAML.
    pub(crate) fn show<T: Serialize + DeserializeOwned>(
        &mut self,
        value: &T,
        table: impl FnOnce(&T, &RenderOptions) -> String,
    ) -> anyhow::Result<()> {
        let value = &self.clean(value)?;
        let text = match self.format {
            Format::Table | Format::Wide => table(value, &self.look()),
            Format::Json => serde_json::to_string_pretty(value)?,
            Format::Yaml => colony_core::margo::yaml::emit(&serde_json::to_value(value)?),
        };
        self.write(&text)
    }

    /// The view, cleaned of control characters if it goes to a terminal.
    pub(crate) fn clean<T: Serialize + DeserializeOwned>(&self, value: &T) -> anyhow::Result<T> {
        if self.terminal && !self.raw {
            return clean::view(value);
        }
        Ok(serde_json::from_value(serde_json::to_value(value)?)?)
    }

    /// Prints one of many values that come over time: a line, or an object of
    /// JSON or YAML.
    pub(crate) fn show_next<T: Serialize + DeserializeOwned>(
        &mut self,
        value: &T,
        line: impl FnOnce(&T, &RenderOptions) -> String,
    ) -> anyhow::Result<()> {
        let value = &self.clean(value)?;
        let text = match self.format {
            Format::Table | Format::Wide => line(value, &self.look()),
            Format::Json => serde_json::to_string(value)?,
            Format::Yaml => {
                format!("---\n{}", colony_core::margo::yaml::emit(&serde_json::to_value(value)?))
            }
        };
        self.write(&text)
    }

    /// Prints data to stdout.
    pub(crate) fn data(&mut self, text: &str) -> anyhow::Result<()> {
        if self.terminal && !self.raw {
            return self.write(&printable(text));
        }
        self.write(text)
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            writeln!(self.stdout, "{text}")?;
            self.stdout.flush()?;
        }
        Ok(())
    }

    /// Prints help for people, which is not the requested data, to stderr.
    pub(crate) fn note(&mut self, text: &str) -> anyhow::Result<()> {
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            let text = if self.stderr_terminal { printable(text) } else { text.to_owned() };
            writeln!(self.stderr, "{text}")?;
        }
        Ok(())
    }

    /// Bytes for the terminal, such as a table that is redrawn.
    pub(crate) fn draw(&mut self, text: &str) -> anyhow::Result<()> {
        self.stdout.write_all(text.as_bytes())?;
        Ok(self.stdout.flush()?)
    }

    /// Asks a person; anything but yes is no.
    pub(crate) fn confirm(&mut self, question: &str) -> anyhow::Result<bool> {
        write!(self.stderr, "{} [y/N] ", printable(question))?;
        self.stderr.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}
