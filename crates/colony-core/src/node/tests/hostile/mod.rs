//! Whatever happens to a node: wrong inputs, crashes, too much of everything.

mod chaos;
mod crash;
mod limits;
mod property;
