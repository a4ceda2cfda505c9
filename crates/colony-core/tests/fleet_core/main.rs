//! The fleet core, fed with the logs of real sites.

mod answers;
mod change;
mod kit;
mod memory;
mod names;
mod order;
mod outcome;
mod projection;
mod replacement;
mod rollback;
mod status;
mod story;
mod target;
mod told;
mod untrusted;
mod verdicts;
mod waiting;
mod why;
