//! A fleet of real processes in a temporary folder: everything has its own
//! ports, contexts and storage, and ends with the test.

mod fleet;
mod gate;
mod git;
mod postgres;
mod process;
mod said;
mod shop;

pub(crate) use fleet::{Fleet, RoleNetwork};
pub(crate) use gate::Gate;
pub(crate) use git::git;
pub(crate) use postgres::Postgres;
pub(crate) use process::Process;
pub(crate) use said::Said;
pub(crate) use shop::{Shop, web};

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// Looks again and again until there is something to see.
#[track_caller]
pub(crate) fn wait<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_or_not(look).unwrap_or_else(|| panic!("waited in vain for {what}"))
}

/// The same, for those who have more to tell if it never comes.
pub(crate) fn wait_or_not<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = now() + PATIENCE;
    while now() < end {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// A port of this machine that no process uses. Below those the system gives to
/// outgoing connections, so that no process gets it by chance meanwhile.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 1_900).unwrap() * 10;
    let port = || 12_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 19_000;
    wait("a free port", || Some(port()).filter(|it| TcpListener::bind(("127.0.0.1", *it)).is_ok()))
}

#[expect(clippy::disallowed_methods, reason = "a test waits for real programs")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
