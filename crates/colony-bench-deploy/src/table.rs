//! Tables as Markdown, so that a run can be put into the documentation as is.

use std::fmt;
use std::time::Duration;

/// A titled table whose first row names the columns, and a note on the method.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
    note: String,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Table {
        let head = columns.iter().map(|it| (*it).to_owned()).collect();
        Table { title: title.into(), rows: vec![head], note: String::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Table {
        self.note = note.into();
        self
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n", self.title)?;
        for (index, row) in self.rows.iter().enumerate() {
            writeln!(f, "| {} |", row.join(" | "))?;
            if index == 0 {
                let rule: Vec<&str> = row.iter().map(|_| "---").collect();
                writeln!(f, "| {} |", rule.join(" | "))?;
            }
        }
        if !self.note.is_empty() {
            writeln!(f, "\n{}", self.note)?;
        }
        Ok(())
    }
}

/// `12.3 ms`, `1.20 s`.
pub(crate) fn time(it: Duration) -> String {
    match it.as_millis() {
        0..1_000 => format!("{:.1} ms", it.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", it.as_secs_f64()),
    }
}

/// How many times the baseline this is.
pub(crate) fn ratio(it: Duration, baseline: Duration) -> String {
    format!("{:.2}×", it.as_secs_f64() / baseline.as_secs_f64().max(1e-9))
}

/// `3.4 MiB`
pub(crate) fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
