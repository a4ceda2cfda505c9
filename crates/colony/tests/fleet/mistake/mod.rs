//! Mistakes of people and of workloads: each is refused or undone, with a
//! sentence that says what is wrong.

mod by_hand;
mod containerd;
mod image;
mod names;
mod parameters;
mod password;
mod workload;
