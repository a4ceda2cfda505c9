//! The deployments repository against real git: written, raced for, broken, read, served.

mod child;
mod hosted;
mod hostile;
mod http;
mod https;
mod kit;
mod packing;
mod registry;
mod remote;
mod ssh;
mod timing;
mod watch;
