//! The journal of a node, as a disk gives it back.

use std::collections::BTreeMap;

use colony_core::margo::Digest;
use colony_core::node::journal::{Entry, line, replay};

use crate::{Outcome, hold};

/// Lines of a journal. Digests are put right as well, so that what the lines
/// say is looked at too; a line without a digest gets one.
pub(super) fn journal(input: &[u8]) -> Outcome {
    let found = good(input);
    let mended: Vec<u8> = input.split(|it| *it == b'\n').flat_map(mended).collect();
    let whole = good(&mended);
    torn(&mended[..whole.1]);
    Outcome::taken(format!("{} {} {}", found.0, whole.0, whole.1 == mended.len()))
}

fn mended(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let json = text.find(['[', '{']).map_or("", |at| &text[at..]);
    format!("{} {json}\n", Digest::of(json.as_bytes())).into_bytes()
}

/// What counts is read again as the same: alone, rewritten in one line, and
/// before the next step. Answers what there is, and how many bytes count.
fn good(bytes: &[u8]) -> (String, usize) {
    let (rows, whole) = replay(bytes);
    let good = &bytes[..whole];
    assert!(good.is_empty() || good.ends_with(b"\n"), "half a line counts");
    hold::same(&replay(good), &(rows.clone(), whole), "what counts");
    let entries = rows.iter().map(|(key, row)| Entry { key: key.clone(), row: Some(row.clone()) });
    let anew = line(&entries.collect::<Vec<_>>()).expect("rows are JSON");
    hold::same(&replay(&anew), &(rows.clone(), anew.len()), "rewritten");
    let gone = rows.keys().map(|key| Entry { key: key.clone(), row: None }).collect::<Vec<_>>();
    let next = [good, &line(&gone).expect("JSON")].concat();
    hold::same(&replay(&next), &(BTreeMap::new(), next.len()), "all rows removed");
    ("r".repeat(rows.len().min(4)), whole)
}

/// Cut anywhere in its last line, a journal says what it said before that line.
fn torn(bytes: &[u8]) {
    let Some(body) = bytes.strip_suffix(b"\n") else { return };
    let start = body.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
    let before = replay(&bytes[..start]);
    let middle = start + (bytes.len() - start) / 2;
    for cut in [start + 1, start + 40, middle, bytes.len() - 2, bytes.len() - 1] {
        if cut > start && cut < bytes.len() {
            hold::same(&replay(&bytes[..cut]), &before, "a torn line");
        }
    }
}
