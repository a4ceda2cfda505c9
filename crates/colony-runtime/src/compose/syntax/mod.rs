//! The syntax of a compose file below its keys: merge keys, variables, scalars
//! and words.

pub(super) mod interpolate;
pub(super) mod tree;
pub(super) mod value;
mod words;
