//! The readiness of the node, and the reasons if it is not ready.

use std::sync::Arc;
use std::time::Duration;

use colony_runtime::CredentialStore;
use colony_wfm::Readiness;

use crate::brain::Brain;
use crate::engine::Slot;

/// An engine that takes longer counts as not answering.
const PATIENCE: Duration = Duration::from_secs(5);

/// The parts of this machine that have to work.
#[derive(Debug, Clone)]
pub(crate) struct Vitals {
    pub(crate) brain: Arc<Brain>,
    pub(crate) engine: Slot,
    pub(crate) credentials: CredentialStore,
}

impl Vitals {
    /// What prevents the node from working, and what it works without. The
    /// manager does not count, because it is not part of this machine.
    pub(crate) async fn readiness(&self) -> Readiness {
        let engine = self.engine().await.err();
        let mut lacking = self.credentials.problems().await;
        lacking.extend(self.engine.runtime().map(|it| it.problems()).unwrap_or_default());
        readiness(engine, self.brain.disk_problem(), lacking)
    }

    pub(crate) async fn engine(&self) -> Result<(), String> {
        let runtime = self.engine.runtime()?;
        match tokio::time::timeout(PATIENCE, runtime.ping()).await {
            Ok(answer) => answer.map_err(|it| it.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }
}

/// A node is ready without what only some deployments need: credentials for
/// private registries, ports that move without a gap.
fn readiness(engine: Option<String>, disk: Option<String>, lacking: Vec<String>) -> Readiness {
    let engine = engine.map(|it| format!("the container engine does not answer: {it}"));
    let disk = disk.map(|it| format!("could not store: {it}"));
    let mut readiness = Readiness::unless(engine.into_iter().chain(disk).collect());
    readiness.reasons.extend(lacking);
    readiness
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_without_credentials_is_ready() {
        check(None, None, &[], true, &[]);
        check(None, None, &["auth.json: …"], true, &["auth.json: …"]);
        let engine = "the container engine does not answer: no socket";
        check(Some("no socket"), None, &["a"], false, &[engine, "a"]);
        check(None, Some("it is full"), &[], false, &["could not store: it is full"]);
    }

    #[tokio::test]
    async fn broken_credentials_are_among_the_reasons() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("auth.json");
        let (identity, _) = crate::kit::sample::joined();
        let config = crate::kit::sample::config(dir.path());
        let brain = Arc::new(Brain::open(&config, &identity).expect("a brain"));
        let credentials = CredentialStore::files(Some(file.clone()), Vec::new());
        let vitals = Vitals { brain, engine: Slot::default(), credentials };
        let reasons = vitals.readiness().await.reasons;
        let expected = format!("registry credentials in {}: does not exist", file.display());
        assert_eq!(reasons.last(), Some(&expected));
    }

    #[track_caller]
    fn check(
        engine: Option<&str>,
        disk: Option<&str>,
        credentials: &[&str],
        ready: bool,
        reasons: &[&str],
    ) {
        let owned = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (engine, disk) = (engine.map(str::to_owned), disk.map(str::to_owned));
        let expected = Readiness { ready, reasons: owned(reasons) };
        assert_eq!(readiness(engine, disk, owned(credentials)), expected);
    }
}
