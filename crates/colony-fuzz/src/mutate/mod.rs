//! Changes inputs: bytes, lines, and whole values where they have a structure.
//!
//! Deterministic: the same seed, corpus and outcomes give the same inputs.

mod bytes;
mod lines;
mod tree;

use crate::random::Random;
use crate::{Shape, Target};

/// The longest input that is made, but for the few that are made large.
const USUAL: usize = 16 << 10;
/// The longest of the large ones.
const LARGE: usize = 320 << 10;

/// Makes the next input out of some of the pool.
pub(crate) fn next(target: &Target, pool: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(pool).cloned().unwrap_or_default();
    let steps = 1 + random.below(4);
    for _ in 0..steps {
        step(target, pool, &mut input, random);
    }
    let large = random.one_in(400);
    if large {
        bytes::grow(&mut input, LARGE, random);
    }
    input.truncate(if large { LARGE } else { USUAL });
    input
}

fn step(target: &Target, pool: &[Vec<u8>], input: &mut Vec<u8>, random: &mut Random) {
    let other = random.pick(pool).cloned().unwrap_or_default();
    match (target.shape, random.below(8)) {
        (Shape::Json, 0..=4) => tree::edit(target, input, &other, tree::Syntax::Json, random),
        (Shape::Yaml, 0..=2) => tree::edit(target, input, &other, tree::Syntax::Yaml, random),
        (Shape::Yaml | Shape::Text, 3..=5) => lines::edit(target, input, &other, random),
        (Shape::Json | Shape::Yaml | Shape::Text | Shape::Bytes, _) => {
            bytes::edit(target, input, &other, random);
        }
    }
}
