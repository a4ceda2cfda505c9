//! The site core over input nobody vouches for: files, reports, clocks.

mod happening;
mod parse;
mod sequence;
mod settings;
mod workload;
mod world;
