//! Failpoints: places where a process can be killed, before and after every
//! write of a role, and before the result is sent anywhere.
//!
//! `hit` is an empty function unless the feature `failpoints` is on in a build
//! with debug assertions; a release build never has it. With it, the variable
//! `COLONY_FAILPOINT` selects the point: `<point>[:n]` kills the process with
//! SIGKILL the n-th time it reaches the point. A value with a `/` is the path
//! of a file with such a text. The file is read at every point and removed by
//! the process that dies, so that a running process can be armed and a test
//! sees that the point was reached.

mod point;
#[cfg(all(feature = "failpoints", debug_assertions))]
mod trap;

pub use point::{Point, Role};

/// The process may die here.
#[cfg(all(feature = "failpoints", debug_assertions))]
pub fn hit(point: Point) {
    trap::hit(point);
}

/// Does nothing: this build has no failpoints.
#[cfg(not(all(feature = "failpoints", debug_assertions)))]
#[inline(always)]
pub fn hit(_: Point) {}
