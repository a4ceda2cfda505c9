//! Log lines somebody waits for, from the question to the node's answer.
//!
//! A question travels with the answer to the node's next poll; the node sends
//! the lines back. Both ends are bounded in number and in time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use colony_core::id::{DeploymentId, NodeName};
use colony_core::time::Mono;
use colony_wfm::asks::{is_position, is_service};
use colony_wfm::{LogAnswer, LogRequest};

use crate::brain::Brain;

/// How long a node may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const MOST: usize = 64;
/// The most lines of one answer.
const LINES: u32 = 2_000;

/// The open questions; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<BTreeMap<String, Open>>>);

#[derive(Debug)]
struct Open {
    node: NodeName,
    request: LogRequest,
    until: Mono,
    answer: oneshot::Sender<LogAnswer>,
}

/// What is asked of a node.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub id: String,
    pub node: NodeName,
    pub what: LogWish,
}

/// What of the logs of a deployment is wanted.
#[derive(Debug, Clone)]
pub(crate) struct LogWish {
    pub deployment: DeploymentId,
    pub previous: bool,
    pub lines: u32,
    pub since_seconds: Option<u64>,
    pub service: Option<String>,
    pub after: Option<String>,
}

impl LogWish {
    fn request(self, id: String) -> LogRequest {
        let LogWish { deployment, previous, lines, since_seconds, service, after } = self;
        let lines = lines.min(LINES);
        LogRequest { id, deployment, previous, lines, since_seconds, service, after }
    }

    /// Why it cannot be sent to a node.
    fn problem(&self) -> Option<String> {
        let service = self.service.as_deref().filter(|it| !is_service(it));
        let service = service.map(|it| format!("`{it}` cannot be the name of a service"));
        let after = self.after.as_deref().filter(|it| !is_position(it));
        service.or(after.map(|_| "`after` is not a position that a node has given".to_owned()))
    }
}

impl Logs {
    /// Asks the node and waits for its lines.
    pub(crate) async fn ask(&self, brain: &Brain, question: Question) -> LogAnswer {
        let (node, id) = (question.node.clone(), question.id.clone());
        if let Some(problem) = question.what.problem() {
            return failed(problem);
        }
        if let Err(problem) = reachable(brain, &question).await {
            return failed(problem);
        }
        let (answer, lines) = oneshot::channel();
        if !self.open(question, answer, brain.now().mono) {
            return failed("too many logs are waited for at this site".to_owned());
        }
        brain.wakes().node(&node);
        match tokio::time::timeout(PATIENCE, lines).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => {
                self.0.lock().remove(&id);
                failed(format!("node {node} did not answer within {} s", PATIENCE.as_secs()))
            }
        }
    }

    fn open(&self, it: Question, answer: oneshot::Sender<LogAnswer>, now: Mono) -> bool {
        let mut open = self.0.lock();
        open.retain(|_, it| it.until > now && !it.answer.is_closed());
        if open.len() >= MOST {
            return false;
        }
        let Question { id, node, what } = it;
        let request = what.request(id.clone());
        open.insert(id, Open { node, request, until: now.after(PATIENCE), answer });
        true
    }

    /// What the node is to be asked.
    pub(crate) fn open_for(&self, node: &NodeName, now: Mono) -> Vec<LogRequest> {
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
            // Whoever asked may have left.
            let _ = open.answer.send(answer.bounded());
        }
    }
}

/// Nobody should wait for a node that is known to be away.
async fn reachable(brain: &Brain, question: &Question) -> Result<(), String> {
    let node = &question.node;
    let online = brain.read(|site, _| site.member(node).map(|it| it.is_online())).await;
    match online.map_err(|it| it.to_string())? {
        Some(true) => Ok(()),
        Some(false) => Err(format!("node {node} is offline")),
        None => Err(format!("node {node} has not joined this site")),
    }
}

fn failed(problem: String) -> LogAnswer {
    LogAnswer { problem: Some(problem), ..LogAnswer::default() }
}
