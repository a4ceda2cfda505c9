//! Places where a process can be made to die: before and after everything a
//! role keeps, and before anybody hears of it.
//!
//! `hit` is an empty function unless the feature `failpoints` is on in a build
//! with debug assertions; a release build never has it. With it, the variable
//! `COLONY_FAILPOINT` says where: `<point>[:n]` kills the process with SIGKILL
//! the n-th time it comes by. A value with a `/` is the path of a file that
//! says so, which is read at every point and removed by the process that dies,
//! so that a running process can be armed and a test sees that it was reached.

mod point;
#[cfg(all(feature = "failpoints", debug_assertions))]
mod trap;

pub use point::{Point, Role};

/// The process may die here.
#[cfg(all(feature = "failpoints", debug_assertions))]
pub fn hit(point: Point) {
    trap::hit(point);
}

/// The process may die here, in builds with failpoints; this is none.
#[cfg(not(all(feature = "failpoints", debug_assertions)))]
#[inline(always)]
pub fn hit(_: Point) {}
