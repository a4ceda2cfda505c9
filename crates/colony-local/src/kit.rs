//! Parts of a site for unit tests: a brain on its own disk, and a membership.

use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use colony_api::site::{GitAccess, GitAuth};
use colony_core::event::Incarnation;
use colony_core::site::{Commit, Input, Timing};
use colony_store::LocalStore;
use colony_testkit::{App, capabilities, commit_id};

use crate::brain::{Brain, SiteConfig};
use crate::home::Membership;

/// The writer of a brain, as a task.
pub(crate) struct Running {
    pub(crate) store: LocalStore,
    stop: CancellationToken,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("it ends well");
    }
}

pub(crate) async fn open(dir: &TempDir) -> (Brain, Running) {
    open_as(dir, 0).await
}

pub(crate) async fn open_as(dir: &TempDir, incarnation: Incarnation) -> (Brain, Running) {
    let store = LocalStore::open(&dir.path().join("local.db")).await.expect("a database");
    let site = "home".parse().expect("a name");
    let origin = SiteConfig { site, incarnation, timing: Timing::default() };
    let (brain, writer) = Brain::open(store.clone(), origin).await.expect("a site");
    let stop = CancellationToken::new();
    let task = tokio::spawn(writer.run(stop.clone()));
    (brain, Running { store, stop, task })
}

/// Adds node `a` with deployment `hello` in progress.
pub(crate) async fn fill(brain: &Brain) {
    let site = "home".parse().expect("a name");
    let files = vec![App::new("hello", "1.0.0").file(&site)];
    let commit = Commit { revision: commit_id(1), base: None, rewritten: false, files };
    let node = || "a".parse().expect("a name");
    let own = Box::new(capabilities("a", "amd64", ""));
    let inputs = [
        Input::Seed(Box::default()),
        Input::Joined(node()),
        Input::Capabilities(node(), own),
        Input::Commit(commit),
    ];
    for input in inputs {
        brain.step(input).await.expect("it is taken");
    }
}

/// Site `home`, which joined with this token.
pub(crate) fn membership(token: &str) -> Membership {
    let (url, branch) = ("https://hub/git".to_owned(), "main".to_owned());
    Membership {
        site: "home".parse().expect("a name"),
        incarnation: 7,
        token: token.to_owned(),
        central: vec!["https://hub".to_owned()],
        domain: "fleet.example".to_owned(),
        token_public: String::new(),
        git: GitAccess { url, branch, auth: GitAuth::None },
    }
}
