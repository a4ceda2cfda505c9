//! The role as others meet it: a real TLS port, SQLite, Git and a site whose
//! core is the real one, driven by hand.

mod alone;
mod backup;
mod bad_input;
mod catalog;
mod conflict;
mod crash;
mod git_http;
mod hints;
mod join;
mod openapi;
mod order;
mod plan;
mod queue;
mod scope;
mod story;
mod stream;
mod support;
mod token;
