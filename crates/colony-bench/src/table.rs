//! Tables as Markdown, so that a run can be put into the documentation as is.

use std::fmt;
use std::time::Duration;

/// A titled table whose first row names the columns.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Table {
        let head = columns.iter().map(|it| (*it).to_owned()).collect();
        Table { title: title.into(), rows: vec![head] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
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
        Ok(())
    }
}

/// `850 ns`, `12.3 µs`, `4.5 ms`, `1.2 s`.
pub(crate) fn time(it: Duration) -> String {
    let nanos = it.as_nanos();
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} µs", it.as_secs_f64() * 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", it.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", it.as_secs_f64()),
    }
}

/// How many times the baseline this is.
pub(crate) fn ratio(it: Duration, baseline: Duration) -> String {
    format!("{:.2}×", it.as_secs_f64() / baseline.as_secs_f64().max(1e-9))
}

/// So many things in `it`, per second.
pub(crate) fn rate(count: usize, it: Duration) -> String {
    format!("{:.0}/s", count as f64 / it.as_secs_f64().max(1e-9))
}
