//! Changes of texts that are made of lines: order, indentation, marks.

use crate::Target;
use crate::random::Random;

/// What has a meaning between lines of YAML, in headers and in settings.
const MARKS: [&str; 16] = [
    "- ", "? ", ": ", "&a ", "*a", "!x ", "!!str ", "|\n", ">-\n", "---\n", "...\n", "<<: *a\n",
    "# ", "{", "[", "\t",
];

pub(super) fn edit(target: &Target, input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = input.split(|it| *it == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    match random.below(7) {
        0 => _ = lines.remove(at),
        1 => lines.insert(at, lines[at].clone()),
        2 => lines.swap_remove(at).into_iter().for_each(drop),
        3 => indent(&mut lines[at], random),
        4 => lines.insert(at, line_of(other, random)),
        5 => mark(&mut lines[at], random),
        _ => value(target, &mut lines[at], random),
    }
    *input = lines.join(&b'\n');
}

fn indent(line: &mut Vec<u8>, random: &mut Random) {
    match random.one_in(2) {
        true => _ = line.splice(0..0, *b"  "),
        false => _ = line.drain(..line.len().min(2)),
    }
}

fn line_of(text: &[u8], random: &mut Random) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split(|it| *it == b'\n').collect();
    random.pick(&lines).map(|it| it.to_vec()).unwrap_or_default()
}

/// At a place where a token may begin.
fn mark(line: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (0..=line.len()).filter(|it| token_starts(line, *it)).collect();
    let at = random.pick(&starts).copied().unwrap_or(0);
    let mark = random.pick(&MARKS).copied().unwrap_or_default();
    line.splice(at..at, mark.bytes());
}

fn token_starts(line: &[u8], at: usize) -> bool {
    at == 0 || at == line.len() || (line[at - 1] == b' ' && line[at] != b' ')
}

/// Another value behind the colon or the equals sign.
fn value(target: &Target, line: &mut Vec<u8>, random: &mut Random) {
    let Some(at) = line.iter().position(|it| matches!(it, b':' | b'=')) else { return };
    let word = random.pick(target.words).copied().unwrap_or_default();
    line.truncate(at + 1);
    line.push(b' ');
    line.extend(word.bytes());
}
