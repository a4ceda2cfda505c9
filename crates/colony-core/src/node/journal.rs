//! The lines of a node's journal: each holds all rows one step changed.
//!
//! Pure: what a line looks like, and which bytes count. A line is the digest of
//! its JSON, a space, the JSON and a newline. The first one that is torn or does
//! not fit its digest ends the reading, so a step is there whole or not at all.
//!
//! Left out: the file, its syncing and when it is rewritten.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::node::row::Row;

/// The rows by their names.
pub type Rows = BTreeMap<String, Row>;

/// One change: the row under a name, or its removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub key: String,
    pub row: Option<Row>,
}

impl Entry {
    pub fn apply(self, rows: &mut Rows) {
        match self.row {
            Some(row) => rows.insert(self.key, row),
            None => rows.remove(&self.key),
        };
    }
}

/// The bytes to append for one step.
pub fn line(entries: &[Entry]) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_string(entries)?;
    Ok(format!("{} {json}\n", Digest::of(json.as_bytes())).into_bytes())
}

/// The rows of all complete lines, and the length of these lines in bytes.
pub fn replay(bytes: &[u8]) -> (Rows, usize) {
    let (mut rows, mut good) = (Rows::new(), 0);
    for line in bytes.split_inclusive(|it| *it == b'\n') {
        let Some(entries) = read(line) else { break };
        entries.into_iter().for_each(|it| it.apply(&mut rows));
        good += line.len();
    }
    (rows, good)
}

fn read(line: &[u8]) -> Option<Vec<Entry>> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (digest, json) = text.split_once(' ')?;
    if Digest::of(json.as_bytes()).to_string() != digest {
        return None;
    }
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::row::Meta;

    #[test]
    fn a_line_that_is_cut_at_any_byte_takes_back_its_step_alone() {
        let (first, second) = (step(&[("a", 1)]), step(&[("a", 2), ("b", 2)]));
        for cut in 0..second.len() {
            check(&[&first, &second[..cut]], first.len(), &[1]);
        }
        check(&[&first, &second], first.len() + second.len(), &[2, 2]);
    }

    #[test]
    fn a_line_with_any_byte_changed_ends_the_reading() {
        let (first, second) = (step(&[("a", 1)]), step(&[("a", 2)]));
        for at in 0..second.len() {
            let mut garbled = second.clone();
            garbled[at] ^= 1;
            check(&[&first, &garbled, &step(&[("a", 3)])], first.len(), &[1]);
        }
    }

    #[test]
    fn zeroes_behind_the_last_line_are_no_line() {
        let first = step(&[("a", 1)]);
        check(&[&first, &[0; 512]], first.len(), &[1]);
    }

    #[track_caller]
    fn check(lines: &[&[u8]], good: usize, numbers: &[u64]) {
        let (rows, whole) = replay(&lines.concat());
        let number = |it: &Row| match it {
            Row::Meta(meta) => meta.report,
            Row::Deployment(_) => panic!("no deployment was written"),
        };
        assert_eq!(
            (whole, rows.values().map(number).collect::<Vec<_>>().as_slice()),
            (good, numbers)
        );
    }

    fn step(rows: &[(&str, u64)]) -> Vec<u8> {
        let entry = |(key, report): &(&str, u64)| Entry {
            key: (*key).to_owned(),
            row: Some(Row::Meta(Meta { report: *report, ..Meta::default() })),
        };
        line(&rows.iter().map(entry).collect::<Vec<_>>()).expect("rows can be written")
    }
}
