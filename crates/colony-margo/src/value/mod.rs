//! Small values with rules, of which documents are made: names, ids, digests,
//! amounts, and the text form they share.

pub mod artifact;
pub mod device;
pub mod digest;
pub mod name;
pub mod quantity;
pub mod text;
