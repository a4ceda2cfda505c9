//! `colony config show`: every setting, and where it came from.

use std::io::Write;
use std::process::ExitCode;

use crate::config::Config;

pub(crate) fn config(config: &Config) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let widest = |column: fn(&Line) -> &str, lines: &[Line]| {
        lines.iter().map(|it| column(it).len()).max().unwrap_or(0)
    };
    let lines: Vec<Line> = config.all().map(Line::of).collect();
    let (names, values) = (widest(|it| it.name, &lines), widest(|it| &it.value, &lines));
    for Line { name, value, origin, help } in &lines {
        writeln!(out, "{name:names$}  {value:values$}  {origin:22}  {help}")?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Line {
    name: &'static str,
    value: String,
    origin: String,
    help: &'static str,
}

impl Line {
    fn of(
        (key, value, origin): (&'static crate::config::keys::Key, &str, &crate::config::Origin),
    ) -> Line {
        let value = if value.is_empty() { "-" } else { value };
        let (value, origin) = (value.to_owned(), origin.to_string());
        Line { name: key.name, value, origin, help: key.help }
    }
}
