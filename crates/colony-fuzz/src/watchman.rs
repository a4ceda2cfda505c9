//! Notices an input that never ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::show;

/// No input may take longer; it would be slow at a tenth of it.
const END: Duration = Duration::from_secs(30);

/// What is being run, and since when.
type Job = Option<(&'static str, Vec<u8>, Instant)>;

pub(crate) struct Watchman(Arc<Mutex<Job>>);

impl Watchman {
    pub(crate) fn start() -> Watchman {
        let job = Arc::new(Mutex::new(None));
        let watched = Arc::clone(&job);
        thread::spawn(move || watch(&watched));
        Watchman(job)
    }

    pub(crate) fn begin(&self, target: &'static str, input: &[u8]) {
        let mut job = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *job = Some((target, input.to_vec(), now()));
    }

    pub(crate) fn rest(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[expect(clippy::disallowed_methods, reason = "what never ends is ended by the clock")]
fn now() -> Instant {
    Instant::now()
}

fn watch(job: &Mutex<Job>) {
    loop {
        thread::sleep(Duration::from_secs(1));
        let job = job.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((target, input, since)) = job.as_ref()
            && since.elapsed() > END
        {
            let kept = show::keep(target, input);
            println!("{target}: an input of {} bytes does not end; kept: {kept:?}", input.len());
            std::process::exit(1);
        }
    }
}
