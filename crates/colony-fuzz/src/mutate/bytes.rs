//! Changes that know nothing of what the bytes mean.

use crate::Target;
use crate::random::Random;

/// Bytes that stand at the borders of something.
const ODD: [u8; 16] =
    [0, 1, 9, 10, 13, 0x1f, b' ', b'"', b'\'', b'\\', b'/', b':', 0x7f, 0x80, 0xc0, 0xff];

pub(super) fn edit(target: &Target, input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match random.below(9) {
        0 => flip(input, random),
        1 => set(input, random),
        2 => remove(input, random),
        3 => repeat(input, random),
        4 => splice(input, other, random),
        5 => cross(input, other, random),
        6 => number(input, random),
        _ => word(target, input, random),
    }
}

fn flip(input: &mut [u8], random: &mut Random) {
    let bit = 1 << random.below(8);
    let at = random.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte ^= bit;
    }
}

fn set(input: &mut [u8], random: &mut Random) {
    let at = random.below(input.len());
    let odd = random.pick(&ODD).copied().unwrap_or_default();
    if let Some(byte) = input.get_mut(at) {
        *byte = odd;
    }
}

fn remove(input: &mut Vec<u8>, random: &mut Random) {
    let (from, until) = stretch(input.len(), 32, random);
    input.drain(from..until);
}

fn repeat(input: &mut Vec<u8>, random: &mut Random) {
    let (from, until) = stretch(input.len(), 32, random);
    let piece = input[from..until].repeat(1 + random.below(8));
    input.splice(from..from, piece);
}

fn splice(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let (from, until) = stretch(other.len(), 64, random);
    let at = random.below(input.len() + 1);
    input.splice(at..at, other[from..until].iter().copied());
}

/// The beginning of one, the end of another.
fn cross(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    input.truncate(random.below(input.len() + 1));
    input.extend(&other[random.below(other.len() + 1)..]);
}

/// Puts another number where digits stand.
fn number(input: &mut Vec<u8>, random: &mut Random) {
    const NUMBERS: [&str; 9] = [
        "0",
        "-1",
        "1e400",
        "65536",
        "4294967296",
        "9007199254740993",
        "18446744073709551615",
        "+1",
        "0x7fffffffffffffff",
    ];
    let start = random.below(input.len());
    let Some(from) = (start..input.len()).find(|it| input[*it].is_ascii_digit()) else { return };
    let until = (from..input.len()).find(|it| !input[*it].is_ascii_digit());
    let number = random.pick(&NUMBERS).copied().unwrap_or_default();
    input.splice(from..until.unwrap_or(input.len()), number.bytes());
}

fn word(target: &Target, input: &mut Vec<u8>, random: &mut Random) {
    let word = random.pick(target.words).copied().unwrap_or("\u{fffd}");
    let at = random.below(input.len() + 1);
    let over = if random.one_in(2) { word.len().min(input.len() - at) } else { 0 };
    input.splice(at..at + over, word.bytes());
}

/// Repeats one stretch until the input is large.
pub(super) fn grow(input: &mut Vec<u8>, limit: usize, random: &mut Random) {
    let longest = if random.one_in(2) { 4 } else { 400 };
    let (from, until) = stretch(input.len(), longest, random);
    let length = until - from;
    if length > 0 && input.len() < limit {
        let times = random.below((limit - input.len()) / length);
        let piece = input[from..until].repeat(times);
        input.splice(from..from, piece);
    }
}

fn stretch(length: usize, longest: usize, random: &mut Random) -> (usize, usize) {
    let from = random.below(length + 1);
    let until = from + random.below(longest.min(length - from) + 1);
    (from, until)
}
