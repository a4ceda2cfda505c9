//! The records of a run as one table.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Record;

pub const BEGIN: &str = "<!-- chaos: begin -->";
pub const END: &str = "<!-- chaos: end -->";

/// What all tests of one fault at one role came to.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    tests: u64,
    faults: u64,
    acknowledged: u64,
    lost: u64,
    restarted: u64,
    slowest: f64,
    asked: u64,
    answered: u64,
}

impl Sum {
    fn add(&mut self, it: &Record) {
        self.tests += 1;
        self.faults += it.faults;
        self.acknowledged += it.acknowledged;
        self.lost += it.lost;
        self.restarted += it.restarted;
        self.slowest = self.slowest.max(it.seconds);
        self.asked += it.asked;
        self.answered += it.answered;
    }

    fn row(&self, fault: &str, role: &str) -> String {
        let Sum { tests, faults, acknowledged, lost, restarted, slowest, asked, answered } = self;
        // Where no role could be asked, there is no count.
        let why = match asked {
            0 => "–".to_owned(),
            _ => format!("{answered} of {asked}"),
        };
        format!(
            "| {fault} | {role} | {tests} | {faults} | {acknowledged} | {lost} | {restarted} | \
             {slowest:.0} | {why} |"
        )
    }
}

/// One row for each fault and role, and one for all.
pub fn render(records: &[Record]) -> String {
    let mut rows: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    let mut all = Sum::default();
    for it in records {
        rows.entry((&it.fault, &it.role)).or_default().add(it);
        all.add(it);
    }
    let mut text = String::from(
        "| fault | done to | tests | faults | events acknowledged | events lost | \
         workloads restarted | seconds to converge, at most | `why` answered |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for ((fault, role), sum) in &rows {
        let _ = writeln!(text, "{}", sum.row(fault, role));
    }
    let _ = writeln!(text, "{}", all.row("**all**", ""));
    text
}

/// The document with its table replaced; `None` if it has no place for one.
pub fn replaced(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_fault_and_role_are_one_row() {
        let text = render(&[record("kill -9", 2.0), record("kill -9", 4.4), record("stop", 1.0)]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| kill -9 | node | 2 | 2 | 20 | 0 | 0 | 4 | 2 of 2 |",
                "| stop | node | 1 | 1 | 10 | 0 | 0 | 1 | 1 of 1 |",
                "| **all** |  | 3 | 3 | 30 | 0 | 0 | 4 | 3 of 3 |",
            ]
        );
    }

    #[test]
    fn where_nothing_was_asked_is_a_dash() {
        let text = render(&[Record { asked: 0, answered: 0, ..record("clock set", 1.0) }]);
        let row = text.lines().nth(2).unwrap_or_default();
        assert_eq!(row, "| clock set | node | 1 | 1 | 10 | 0 | 0 | 1 | – |");
    }

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let document = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let expected = format!("a\n{BEGIN}\nnew\n{END}\nb\n");
        assert_eq!(replaced(&document, "new\n"), Some(expected));
        assert_eq!(replaced("a", "new"), None);
    }

    fn record(fault: &str, seconds: f64) -> Record {
        Record {
            test: "t".to_owned(),
            fault: fault.to_owned(),
            role: "node".to_owned(),
            engine: "podman".to_owned(),
            faults: 1,
            acknowledged: 10,
            lost: 0,
            restarted: 0,
            seconds,
            asked: 1,
            answered: 1,
        }
    }
}
