//! `colony config show`: every setting, and where it came from. Secrets inside of
//! addresses are not shown.

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
        // An address may hold a login.
        let (value, origin) = (colony_wfm::login::masked(value), origin.to_string());
        Line { name: key.name, value, origin, help: key.help }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_inside_of_addresses_are_not_shown() {
        check("git.url", "https://ana:hunter2@h/r.git", "https://***@h/r.git");
        check("central.database", "postgres://c:hunter2@db/c", "postgres://c:***@db/c");
        check("node.labels", "a=b,c=d", "a=b,c=d");
    }

    #[track_caller]
    fn check(name: &'static str, value: &str, expected: &str) {
        let flags = [(name, "flag", Some(value.to_owned()))];
        let config = Config::load(None, |_| None, &flags).expect("it loads");
        let line = config.all().map(Line::of).find(|it| it.name == name).expect("a setting");
        assert_eq!(line.value, expected);
    }
}
