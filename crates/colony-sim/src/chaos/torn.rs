//! The part of an unsynced line that reaches the disk when power fails.

use crate::rng::Rng;

/// A part of the line, its length without the content, or other bytes.
pub(crate) fn torn(whole: &[u8], rng: &mut Rng) -> Vec<u8> {
    let length = whole.len() as u64;
    let mut arrived = whole.to_vec();
    let cut = index(rng.range(0..length + 1));
    match rng.range(0..4) {
        0..2 => arrived.truncate(cut),
        2 => arrived[cut..].fill(0),
        _ => {
            let end = index(rng.range(0..length + 1));
            arrived[cut.min(end)..cut.max(end)].iter_mut().for_each(|it| *it = rng.next() as u8);
        }
    }
    arrived
}

fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(0)
}
