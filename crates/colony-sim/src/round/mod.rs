//! When the roles do their work: rounds, timers, and restarts after a crash.

mod central;
mod local;
mod node;
