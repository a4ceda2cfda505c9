//! Runs targets over many inputs: bounded, repeatable, on a stable compiler.
//!
//! A panic is caught and kept; so is an input that takes too long or makes the
//! reader hold too much. An input that never ends cannot be stopped from
//! within, so a watchman writes it down and ends the process.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;

use crate::random::Random;
use crate::{Corpus, Outcome, Target, mutate};

/// An input this slow is a finding.
const SLOW: Duration = Duration::from_secs(2);
/// Inputs worth changing further.
const POOL: usize = 512;
/// Different findings of one target; after them it is left alone.
const ENOUGH: usize = 5;

/// How much is run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub runs: u64,
    pub seed: u64,
}

/// What came of one target.
#[derive(Debug, Clone)]
pub struct Ran {
    pub target: &'static str,
    pub corpus: usize,
    pub runs: u64,
    pub took: Duration,
    pub outcomes: usize,
    pub findings: Vec<Finding>,
}

/// An input and what it broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub input: Vec<u8>,
    pub what: String,
}

/// Feeds a target its corpus and then what grows from it. `begin` receives
/// each input before the target sees it.
pub fn run(
    target: &Target,
    corpus: &Corpus,
    plan: &Plan,
    memory: Option<&PeakAlloc>,
    begin: &mut dyn FnMut(&[u8]),
) -> Ran {
    let mut hunt = Hunt {
        target,
        memory,
        begin,
        seen: BTreeSet::new(),
        pool: Vec::new(),
        findings: Vec::new(),
    };
    let start = now();
    let mut random = Random::new(plan.seed, target.name);
    let mut runs = 0;
    for (_, input) in &corpus.files {
        hunt.feed(input.clone(), true);
        runs += 1;
    }
    while runs < plan.runs && hunt.findings.len() < ENOUGH {
        let input = mutate::next(target, &hunt.pool, &mut random);
        hunt.feed(input, false);
        runs += 1;
    }
    let (outcomes, findings) = (hunt.seen.len(), hunt.findings);
    Ran {
        target: target.name,
        corpus: corpus.len(),
        runs,
        took: start.elapsed(),
        outcomes,
        findings,
    }
}

struct Hunt<'a> {
    target: &'a Target,
    memory: Option<&'a PeakAlloc>,
    begin: &'a mut dyn FnMut(&[u8]),
    seen: BTreeSet<Outcome>,
    pool: Vec<Vec<u8>>,
    findings: Vec<Finding>,
}

impl Hunt<'_> {
    fn feed(&mut self, input: Vec<u8>, keep: bool) {
        (self.begin)(&input);
        match once(self.target, &input, self.memory) {
            Ok(outcome) => {
                let fresh = self.seen.insert(outcome);
                if keep || (fresh && self.pool.len() < POOL) {
                    self.pool.push(input);
                }
            }
            Err(what) => self.report(input, what),
        }
    }

    /// Each kind of finding once.
    fn report(&mut self, input: Vec<u8>, what: String) {
        let kind = |it: &str| it.split('\n').next().unwrap_or_default().to_owned();
        if self.findings.iter().all(|it| kind(&it.what) != kind(&what)) {
            self.findings.push(Finding { input, what });
        }
    }
}

/// Runs one input; `Err` says what it broke.
fn once(target: &Target, input: &[u8], memory: Option<&PeakAlloc>) -> Result<Outcome, String> {
    silence();
    let before = memory.map_or(0, PeakAlloc::current_usage);
    if let Some(memory) = memory {
        memory.reset_peak_usage();
    }
    let start = worked();
    let ended = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let took = worked().saturating_sub(start);
    let outcome = ended.map_err(|_| LAST.take())?;
    if took > SLOW {
        return Err(format!("slow: {} ms for {} bytes", took.as_millis(), input.len()));
    }
    let held = memory.map_or(0, |it| it.peak_usage().saturating_sub(before));
    if held > target.allowance(input.len()) {
        return Err(format!("memory: {} KiB for {} bytes", held >> 10, input.len()));
    }
    Ok(outcome)
}

#[expect(clippy::disallowed_methods, reason = "how fast it ran is shown, nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// How long this thread was at work: others on the machine do not count. Where
/// the system does not tell, nothing is slow but what the watchman ends.
fn worked() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics are findings here: kept, not printed.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(|it| format!("{}:{}", it.file(), it.line()));
            let said = info.payload_as_str().unwrap_or("panic");
            LAST.set(format!("{}: {said}", place.unwrap_or_default()));
        }));
    });
}
