//! What is the matter: the parts that failed last, and whether the site can work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{info, warn};

use colony_core::id::GitRevision;
use colony_core::time::Now;
use colony_core::why;
use colony_wfm::Readiness;

use crate::brain::Brain;

/// What the tasks say of the outside; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Health(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    git: Option<String>,
    central: Option<String>,
    diverged: Option<String>,
    head: Option<GitRevision>,
    acknowledged: u64,
    /// How often CO came back.
    returns: u64,
}

impl Health {
    pub(crate) fn git_answered(&self, head: Option<GitRevision>) {
        let mut parts = self.parts();
        parts.head = head;
        if parts.git.take().is_some() {
            info!("Git answers again");
        }
    }

    pub(crate) fn git_failed(&self, error: &anyhow::Error) {
        let text = format!("Git does not answer, the clone is used: {error:#}");
        note(&mut self.parts().git, text);
    }

    /// The head of the branch when it was last fetched.
    pub(crate) fn git_head(&self) -> Option<GitRevision> {
        self.parts().head.clone()
    }

    /// Whether it had not answered before.
    pub(crate) fn central_answered(&self) -> bool {
        let mut parts = self.parts();
        let back = parts.central.take().is_some();
        parts.returns += u64::from(back);
        if back {
            info!("the central orchestrator answers again");
        }
        back
    }

    /// How often CO came back; it may have been restored from a backup meanwhile.
    pub(crate) fn central_returns(&self) -> u64 {
        self.parts().returns
    }

    pub(crate) fn central_failed(&self, error: &anyhow::Error) {
        let text = format!("the central orchestrator does not answer: {error:#}");
        note(&mut self.parts().central, text);
    }

    /// CO has another past than this site.
    pub(crate) fn diverged(&self, problem: Option<String>) {
        let parts = &mut self.parts().diverged;
        match problem {
            Some(text) => note(parts, text),
            None => *parts = None,
        }
    }

    /// CO has all events below this one.
    pub(crate) fn acknowledged(&self, next: u64) {
        self.parts().acknowledged = next;
    }

    pub(crate) fn next_unsent(&self) -> u64 {
        self.parts().acknowledged
    }

    pub(crate) fn central_is_away(&self) -> bool {
        self.parts().central.is_some()
    }

    pub(crate) async fn readiness(&self, brain: &Brain) -> Readiness {
        let look = |site: &_, now: Now| (is_ready(site), standstill(site, now));
        let (ready, mut reasons) = match brain.read(look).await {
            Ok(it) => it,
            Err(error) => (false, vec![error.to_string()]),
        };
        let parts = self.parts();
        let ready = ready && parts.diverged.is_none();
        let outside = [&parts.diverged, &parts.git, &parts.central];
        reasons.extend(outside.into_iter().flatten().cloned());
        Readiness { ready, reasons }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_ready(site: &colony_core::site::Site) -> bool {
    site.is_ready()
}

/// Why the site as a whole does nothing; a site without nodes is well.
fn standstill(site: &colony_core::site::Site, now: Now) -> Vec<String> {
    if site.is_ready() {
        return Vec::new();
    }
    why::site(site, now).iter().map(ToString::to_string).collect()
}

/// Logged when it begins, not with every try.
fn note(part: &mut Option<String>, text: String) {
    if part.is_none() {
        warn!("{text}");
    }
    *part = Some(text);
}
