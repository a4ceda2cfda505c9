//! Long-polls central, which answers when Git has changed, an operator has sent
//! an order, or an operator requests logs.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use colony_api::site::{Hints, SiteLogRequest};
use colony_core::id::GitRevision;
use colony_core::site::{Command, Refused};
use colony_process::Reconcile;
use colony_wfm::LogRequest;

use crate::brain::{Brain, BrainError};
use crate::health::Health;
use crate::logs::Logs;
use crate::orders::Orders;
use crate::uplink::central::Central;
use crate::uplink::record_result;

/// How long central may hold the answer.
const WAIT: Duration = Duration::from_secs(30);
/// Orders cannot be executed before the site is ready.
const NOT_YET: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Listen {
    brain: Brain,
    health: Health,
    central: Central,
    orders: Orders,
    logs: Logs,
    /// The head that central announced last, and the fetched head at that time.
    /// Requests name it as known until another head is fetched, so that central
    /// announces it once; fetching it is up to the Git task.
    told: Option<(GitRevision, Option<GitRevision>)>,
    last_log: Option<String>,
    answering: JoinSet<()>,
}

impl Listen {
    pub(crate) fn new(
        brain: Brain,
        health: Health,
        central: Central,
        orders: Orders,
        logs: Logs,
    ) -> Listen {
        let (told, last_log, answering) = (None, None, JoinSet::new());
        Listen { brain, health, central, orders, logs, told, last_log, answering }
    }

    /// The head that the request names as known.
    fn head(&self, accepted: Option<GitRevision>) -> Option<GitRevision> {
        let fetched = self.health.git_head();
        let told = self.told.as_ref().filter(|it| it.1 == fetched).map(|it| it.0.clone());
        told.or(fetched).or(accepted)
    }

    async fn path(&self) -> anyhow::Result<(String, Option<GitRevision>)> {
        let (git, done) =
            self.brain.read(|site, _| (site.git().cloned(), site.commands_done())).await?;
        let head = self.head(git);
        let mut path = format!("/hints?command={done}");
        if let Some(head) = &head {
            path.push_str(&format!("&head={head}"));
        }
        if let Some(last) = &self.last_log {
            path.push_str(&format!("&logs={last}"));
        }
        Ok((path, head))
    }

    fn follow(&mut self, head: Option<GitRevision>) {
        let fetched = self.health.git_head();
        let Some(head) = head.filter(|it| self.told.as_ref().is_none_or(|told| told.0 != *it))
        else {
            return;
        };
        debug!("notified of a new commit");
        if fetched.as_ref() != Some(&head) {
            self.brain.notifiers().git.wake();
        }
        self.told = Some((head, fetched));
    }

    /// Executes the commands in order; false if one has to wait.
    async fn execute_commands(&self, commands: Vec<Command>) -> anyhow::Result<bool> {
        for command in commands {
            let number = command.number;
            match self.orders.execute(command).await {
                Ok(()) => {}
                Err(BrainError::Refused(Refused::NotReady(_) | Refused::Fenced { .. })) => {
                    return Ok(false);
                }
                // An event acknowledges the command, with the reason of the
                // refusal.
                Err(BrainError::Refused(refused)) => warn!(number, "refused an order: {refused}"),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn read_logs(&mut self, request: SiteLogRequest) {
        self.last_log = Some(request.id.clone());
        while self.answering.try_join_next().is_some() {}
        let (brain, logs, central) = (self.brain.clone(), self.logs.clone(), self.central.clone());
        self.answering.spawn(async move { answer(brain, logs, central, request).await });
    }
}

/// Requests the lines from the node and sends its answer to central.
async fn answer(brain: Brain, logs: Logs, central: Central, request: SiteLogRequest) {
    let SiteLogRequest { id, node, deployment, previous, lines, since_seconds, service, after } =
        request;
    if !colony_wfm::manager_request::is_request_id(&id) {
        return warn!("the id of a log request cannot be used");
    }
    let Ok(deployment) = deployment.parse() else {
        return warn!(request = id, "a log request names no deployment");
    };
    let request_id = id.clone();
    let wish =
        LogRequest { id: request_id, deployment, previous, lines, since_seconds, service, after };
    let answer = logs.ask(&brain, node, wish).await;
    let body = serde_json::to_vec(&answer).map(Bytes::from).unwrap_or_default();
    if let Err(error) = central.send_only(Method::POST, &format!("/logs/{id}"), body).await {
        warn!(request = id, "could not send logs: {:#}", anyhow::Error::new(error));
    }
}

impl Reconcile for Listen {
    const NAME: &'static str = "hints";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let (path, named) = self.path().await?;
        let hints = self.central.await_news::<Hints>(&path, WAIT).await;
        let (hints, current) = record_result(&self.brain, &self.health, hints).await?;
        let moved = hints.as_ref().is_some_and(|it| it.head.is_some());
        self.health.git_vouch(named.as_ref(), current && !moved, self.brain.now().mono);
        let Some(hints) = hints else {
            return Ok(Duration::ZERO);
        };
        self.follow(hints.head);
        let done = self.execute_commands(hints.commands).await?;
        for request in hints.logs {
            self.read_logs(request);
        }
        Ok(if done { Duration::ZERO } else { NOT_YET })
    }
}
