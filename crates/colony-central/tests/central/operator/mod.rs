//! What operators ask for: plans, orders, the catalog, events and tokens.

mod bad_input;
mod catalog;
mod order;
mod paging;
mod plan;
mod purge;
mod scope;
mod stream;
mod token;
