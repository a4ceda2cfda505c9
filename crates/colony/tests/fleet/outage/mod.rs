//! Parts of the product that are away for a while: what runs is not touched.

mod database;
mod git;
mod registry;
mod restart;
