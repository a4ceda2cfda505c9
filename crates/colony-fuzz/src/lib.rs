//! Every reader of bytes that others wrote, under bytes that no author would
//! write.
//!
//! A [`Target`] calls one reader and checks what must hold whatever comes: it
//! does not panic, what it took is printed and read again as the same, what it
//! says of a text lies inside the text. The targets are used three times: by
//! the program of this crate with its own mutator (`make fuzz`), by libFuzzer
//! (folder `fuzz/`), and by a test that feeds each its corpus.
//!
//! A target ends in a panic when something does not hold; that is all a fuzzer
//! asks for. Left out: readers behind a database or an engine, which have
//! their own tests.

mod corpus;
mod hold;
mod mutate;
mod outcome;
mod random;
mod run;
mod target;
mod targets;

pub use corpus::{Corpus, folder};
pub use outcome::Outcome;
pub use run::{Finding, Plan, Ran, run};
pub use target::{Shape, Target, all, find};
