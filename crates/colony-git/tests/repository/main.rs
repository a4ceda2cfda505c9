//! The deployments repository against real git: written, raced for, broken, read, served.

mod hosted;
mod http;
mod kit;
mod packing;
mod registry;
mod remote;
mod server;
mod timing;
mod tls;
mod watch;
