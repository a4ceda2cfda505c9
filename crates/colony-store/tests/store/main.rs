//! The store against real engines: one suite for both, and a site's file.

mod central;
mod database;
mod local;
mod postgres;
mod proxy;
mod sample;
