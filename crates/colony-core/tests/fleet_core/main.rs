//! The fleet core, fed with the logs of real sites.

mod kit;
mod log;
mod outcome;
mod replacement;
mod rollback;
mod status;
mod target;
mod verdicts;
mod waiting;
mod why;
