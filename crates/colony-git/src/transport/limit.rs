//! Limits of a fetch: received bytes, and time.
//!
//! Bytes are counted where they are read, for every transport. The end of the
//! time also sets a flag, for work that reads nothing.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::error::Error;

/// The limits of one fetch. A fetch that is stopped leaves the copy as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Bytes the remote may send, counted compressed.
    pub bytes: u64,
    /// From the first request to the last object.
    pub time: Duration,
}

impl Default for FetchLimits {
    fn default() -> FetchLimits {
        FetchLimits { bytes: 256 * 1024 * 1024, time: Duration::from_secs(600) }
    }
}

/// The bytes and the time one fetch has used so far.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: FetchLimits,
    began: Instant,
    bytes: AtomicU64,
    stop: AtomicBool,
}

impl Meter {
    pub(crate) fn new(limits: FetchLimits) -> Arc<Meter> {
        let (bytes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Meter { limits, began: now(), bytes, stop })
    }

    /// Set when the time is over.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The limit that the fetch exceeded, if any.
    pub(crate) fn exceeded(&self, doing: &'static str) -> Option<Error> {
        let FetchLimits { bytes, time } = self.limits;
        if self.bytes.load(Ordering::Relaxed) > bytes {
            let problem = format!("the repository sends more than the {bytes} bytes allowed");
            return Some(Error::Limit { doing, problem });
        }
        let late = self.left().is_zero();
        late.then(|| Error::Limit { doing, problem: format!("timed out after {time:?}") })
    }

    fn left(&self) -> Duration {
        self.limits.time.saturating_sub(self.began.elapsed())
    }

    fn check(&self) -> io::Result<()> {
        match self.exceeded("read on") {
            Some(error) => Err(io::Error::other(error.to_string())),
            None => Ok(()),
        }
    }

    /// Reads while the limits allow it.
    pub(crate) fn read(&self, from: &mut impl Read, buf: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let read = from.read(buf)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        self.check()?;
        Ok(read)
    }

    /// Sets the flag and calls `end` when the time is over, unless the returned
    /// watchdog is dropped before.
    pub(crate) fn watch(self: &Arc<Self>, end: impl FnOnce() + Send + 'static) -> Watchdog {
        let (alive, dropped) = mpsc::channel();
        let meter = Arc::clone(self);
        let wait = move || {
            if dropped.recv_timeout(meter.left()) == Err(RecvTimeoutError::Timeout) {
                meter.stop.store(true, Ordering::Relaxed);
                end();
            }
        };
        let name = "git-fetch-deadline".to_owned();
        if let Err(error) = std::thread::Builder::new().name(name).spawn(wait) {
            tracing::warn!("a fetch has no deadline, for no thread can be started: {error}");
        }
        Watchdog { _alive: alive }
    }
}

/// For deadlines of external work only: no decision depends on it.
#[expect(clippy::disallowed_methods, reason = "a fetch and a child process run in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Ends its thread when it is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    _alive: Sender<()>,
}

/// A reader whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Metered<R> {
    pub(crate) from: R,
    pub(crate) meter: Arc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.meter.read(&mut self.from, buf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_at_the_byte_after_the_limit() {
        assert_eq!(read(10, Duration::from_secs(600)), Ok(10));
        let error = read(11, Duration::from_secs(600)).expect_err("too many");
        assert!(error.contains("more than the 10 bytes"), "{error}");
        let error = read(1, Duration::ZERO).expect_err("too late");
        assert!(error.contains("timed out after"), "{error}");
    }

    #[test]
    fn the_end_of_the_time_is_heard_by_who_does_not_read() {
        let limits = FetchLimits { time: Duration::ZERO, ..FetchLimits::default() };
        let (told, heard) = mpsc::channel();
        let meter = Meter::new(limits);
        let _watchdog = meter.watch(move || told.send(()).expect("heard"));
        heard.recv().expect("the time is over");
        assert!(meter.stop().load(Ordering::Relaxed));
    }

    fn read(length: usize, time: Duration) -> Result<usize, String> {
        let meter = Meter::new(FetchLimits { bytes: 10, time });
        let mut reader = Metered { from: io::repeat(7).take(length as u64), meter };
        let mut all = Vec::new();
        reader.read_to_end(&mut all).map_err(|it| it.to_string())
    }
}
