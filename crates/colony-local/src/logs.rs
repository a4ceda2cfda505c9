//! Log requests, from the operator's request to the node's answer.
//!
//! A request travels with the answer to the node's next poll; the node sends
//! the lines back. Requests are bounded in number and in time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use colony_core::id::NodeName;
use colony_core::time::Monotonic;
use colony_wfm::manager_request::{is_position, is_service};
use colony_wfm::{LogAnswer, LogRequest};

use crate::brain::Brain;

/// How long a node may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const MOST: usize = 64;
/// The most lines of one answer.
const LINES: u32 = 2_000;

/// The open requests; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<BTreeMap<String, Open>>>);

#[derive(Debug)]
struct Open {
    node: NodeName,
    request: LogRequest,
    until: Monotonic,
    answer: oneshot::Sender<LogAnswer>,
}

impl Logs {
    /// Sends a request to the node and waits for its lines.
    pub(crate) async fn ask(&self, brain: &Brain, node: NodeName, wish: LogRequest) -> LogAnswer {
        if let Some(problem) = problem(&wish) {
            return failed(problem);
        }
        if let Err(problem) = reachable(brain, &node).await {
            return failed(problem);
        }
        let id = wish.id.clone();
        let (answer, lines) = oneshot::channel();
        let request = LogRequest { lines: wish.lines.min(LINES), ..wish };
        let until = brain.now().mono.after(PATIENCE);
        let open = Open { node: node.clone(), request, until, answer };
        if !self.open(open, brain.now().mono) {
            return failed("too many logs are waited for at this site".to_owned());
        }
        brain.notifiers().node(&node);
        match tokio::time::timeout(PATIENCE, lines).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => {
                self.0.lock().remove(&id);
                failed(format!("node {node} did not answer within {} s", PATIENCE.as_secs()))
            }
        }
    }

    fn open(&self, wish: Open, now: Monotonic) -> bool {
        let mut open = self.0.lock();
        open.retain(|_, it| it.until > now && !it.answer.is_closed());
        if open.len() >= MOST {
            return false;
        }
        open.insert(wish.request.id.clone(), wish);
        true
    }

    /// The open requests for the node.
    pub(crate) fn open_for(&self, node: &NodeName, now: Monotonic) -> Vec<LogRequest> {
        let open = self.0.lock();
        let own = open.values().filter(|it| it.node == *node && it.until > now);
        own.map(|it| it.request.clone()).collect()
    }

    pub(crate) fn answered(&self, node: &NodeName, request: &str, answer: LogAnswer) {
        let mut open = self.0.lock();
        if open.get(request).is_none_or(|it| it.node != *node) {
            return;
        }
        if let Some(open) = open.remove(request) {
            // The caller may have stopped waiting.
            let _ = open.answer.send(answer.bounded());
        }
    }
}

/// Why a request cannot be sent to a node.
fn problem(wish: &LogRequest) -> Option<String> {
    let service = wish.service.as_deref().filter(|it| !is_service(it));
    let service = service.map(|it| format!("`{it}` cannot be the name of a service"));
    let after = wish.after.as_deref().filter(|it| !is_position(it));
    service.or(after.map(|_| "`after` is not a position that a node has given".to_owned()))
}

/// Fails at once for a node that is known to be offline.
async fn reachable(brain: &Brain, node: &NodeName) -> Result<(), String> {
    let online = brain.read(|site, _| site.site_node(node).map(|it| it.is_online())).await;
    match online.map_err(|it| it.to_string())? {
        Some(true) => Ok(()),
        Some(false) => Err(format!("node {node} is offline")),
        None => Err(format!("node {node} has not joined this site")),
    }
}

fn failed(problem: String) -> LogAnswer {
    LogAnswer { problem: Some(problem), ..LogAnswer::default() }
}
