//! A delta between two texts: their common beginning and end are copied.
//!
//! A commit usually changes one entry of a folder or one line of a file.

/// Git counts copies in three bytes.
const COPY_LIMIT: usize = 0xff_ffff;
const INSERT_LIMIT: usize = 127;

/// The instructions that turn `old` into `new`; `None` if they save less than
/// half.
pub(super) fn delta(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    if old.len().max(new.len()) > u32::MAX as usize {
        return None;
    }
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = &new[head..new.len() - tail];
    if middle.len() * 2 > new.len() {
        return None;
    }
    let mut out = Vec::with_capacity(middle.len() + 32);
    size(old.len(), &mut out);
    size(new.len(), &mut out);
    copy(0, head, &mut out);
    for part in middle.chunks(INSERT_LIMIT) {
        out.push(part.len() as u8);
        out.extend(part);
    }
    copy(old.len() - tail, tail, &mut out);
    (out.len() * 2 < new.len()).then_some(out)
}

fn size(mut value: usize, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn copy(mut from: usize, mut length: usize, out: &mut Vec<u8>) {
    while length > 0 {
        let now = length.min(COPY_LIMIT);
        let at = out.len();
        out.push(0x80);
        bytes(from as u32, 4, 0, at, out);
        bytes(now as u32, 3, 4, at, out);
        (from, length) = (from + now, length - now);
    }
}

/// Only bytes that are not zero are written; a bit of the instruction marks
/// each.
fn bytes(value: u32, count: usize, first: usize, at: usize, out: &mut Vec<u8>) {
    for (index, byte) in value.to_le_bytes().into_iter().take(count).enumerate() {
        if byte != 0 {
            out[at] |= 1 << (first + index);
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_copied() {
        let long = "0123456789".repeat(40);
        check(&format!("{long}a{long}"), &format!("{long}bcd{long}"), true);
        check(&long, &format!("{long}{long}"), false);
        check(&format!("{long}{long}"), &long, true);
        check(&long, "", false);
        check("", &long, false);
        let large = "0123456789".repeat(1_700_000);
        check(&large, &format!("y{large}"), true);
    }

    #[track_caller]
    fn check(old: &str, new: &str, worth: bool) {
        let made = delta(old.as_bytes(), new.as_bytes());
        assert_eq!(made.is_some(), worth);
        let Some(made) = made else { return };
        assert!(apply(old.as_bytes(), &made) == new.as_bytes());
    }

    /// Applies a delta as git does.
    fn apply(old: &[u8], delta: &[u8]) -> Vec<u8> {
        let mut rest = delta;
        let mut next = || {
            let (first, others) = rest.split_first()?;
            rest = others;
            Some(*first)
        };
        let mut size = || {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = next().expect("a size");
                value |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        };
        let (before, after) = (size(), size());
        assert_eq!(before, old.len());
        let mut out = Vec::new();
        while let Some(code) = next() {
            if code & 0x80 == 0 {
                (0..code).for_each(|_| out.push(next().expect("a byte")));
                continue;
            }
            let mut number = |bits: std::ops::Range<u8>| {
                let first = bits.start;
                bits.filter(|it| code & (1 << it) != 0)
                    .map(|it| usize::from(next().expect("a byte")) << (8 * (it - first)))
                    .sum::<usize>()
            };
            let (from, length) = (number(0..4), number(4..7));
            let length = if length == 0 { 0x10000 } else { length };
            out.extend(&old[from..from + length]);
        }
        assert_eq!(out.len(), after);
        out
    }
}
