//! The role as others meet it: a real TLS port, SQLite, Git and a site whose
//! core is the real one, driven by hand.

mod alone;
mod backup;
mod join;
mod openapi;
mod operator;
mod repository;
mod story;
mod support;
