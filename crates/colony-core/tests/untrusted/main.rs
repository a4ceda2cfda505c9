//! The site core with untrusted input: files, reports, clocks.

mod happening;
mod parse;
mod sequence;
mod settings;
mod workload;
mod world;
