//! Log requests of the manager, read and answered beside the poll: an engine
//! that hangs must not make the node look dead.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::{AbortHandle, JoinSet};
use tracing::warn;

use colony_core::attempt::Failure;
use colony_core::margo::DeploymentId;
use colony_runtime::{LogEntry, LogPage, LogQuery, Runtime};
use colony_wfm::{LogAnswer, LogLine, LogRequest};

use crate::clock;
use crate::manager::Manager;

/// How many requests are read at once; the manager repeats the others.
const TOGETHER: usize = 8;
/// How long the engine may take; the requester waits a little longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Where logs are read: the engine, outside of tests.
#[async_trait]
pub(crate) trait LogSource: Send + Sync {
    async fn logs(&self, deployment: &DeploymentId, query: &LogQuery) -> Result<LogPage, Failure>;
}

#[async_trait]
impl LogSource for Runtime {
    async fn logs(&self, deployment: &DeploymentId, query: &LogQuery) -> Result<LogPage, Failure> {
        Runtime::logs(self, deployment, query).await
    }
}

/// The requests in progress, by id.
pub(crate) struct Logs {
    source: Arc<dyn LogSource>,
    manager: Arc<Manager>,
    reading: JoinSet<()>,
    open: BTreeMap<String, AbortHandle>,
}

impl Logs {
    pub(crate) fn new(source: Arc<dyn LogSource>, manager: Arc<Manager>) -> Logs {
        Logs { source, manager, reading: JoinSet::new(), open: BTreeMap::new() }
    }

    /// The request is not being read already.
    pub(crate) fn is_new(&self, request: &LogRequest) -> bool {
        self.open.get(&request.id).is_none_or(AbortHandle::is_finished)
    }

    pub(crate) fn read(&mut self, request: LogRequest) {
        let (source, manager) = (self.source.clone(), self.manager.clone());
        self.begin(request.id.clone(), send(request, source, manager));
    }

    fn begin(&mut self, id: String, work: impl Future<Output = ()> + Send + 'static) {
        while self.reading.try_join_next().is_some() {}
        self.open.retain(|_, it| !it.is_finished());
        if self.open.len() < TOGETHER && !self.open.contains_key(&id) {
            self.open.insert(id, self.reading.spawn(work));
        }
    }

    /// Drops all requests in progress, and waits until they have ended.
    pub(crate) async fn end(&mut self) {
        self.reading.shutdown().await;
    }
}

async fn send(request: LogRequest, source: Arc<dyn LogSource>, manager: Arc<Manager>) {
    let LogRequest { id, deployment, previous, lines, since_seconds, service, after } = request;
    let since =
        since_seconds.map(|it| u64::try_from(clock::unix()).unwrap_or_default().saturating_sub(it));
    let query = LogQuery { previous, lines, since, service, after };
    let answer = answer(source.logs(&deployment, &query)).await;
    if let Err(error) = manager.client().logs(&id, &answer).await {
        warn!("could not send logs: {error}");
    }
}

async fn answer(read: impl Future<Output = Result<LogPage, Failure>>) -> LogAnswer {
    let problem = match tokio::time::timeout(LIMIT, read).await {
        Ok(Ok(LogPage { lines, position })) => {
            let line = |LogEntry { service, time, text }| LogLine { service, time, text };
            let lines = lines.into_iter().map(line).collect();
            return LogAnswer { lines, position: Some(position), ..LogAnswer::default() };
        }
        Ok(Err(failure)) => failure.message,
        Err(_) => format!("the engine did not give the logs within {} s", LIMIT.as_secs()),
    };
    LogAnswer { problem: Some(problem), ..LogAnswer::default() }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use colony_core::code::Code;

    use super::*;
    use crate::kit::sample;

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_hangs_is_told_of() {
        let (service, text) = ("web".to_owned(), "up".to_owned());
        let lines = vec![LogEntry { service, time: None, text }];
        check(ready(Ok(LogPage { lines, position: "p".to_owned() })), None).await;
        check(ready(Err(Failure::new(Code::EngineError, "no"))), Some("no")).await;
        check(pending(), Some("the engine did not give the logs within 20 s")).await;
    }

    #[tokio::test]
    async fn what_hangs_is_begun_once_and_holds_nobody_up() {
        let mut logs = Logs::new(Arc::new(sample::NoLogs), sample::joined().1);
        logs.begin("a".to_owned(), pending());
        logs.begin("a".to_owned(), pending());
        assert_eq!((logs.reading.len(), logs.is_new(&request("a"))), (1, false));
        (0..20).for_each(|it| logs.begin(it.to_string(), pending()));
        assert_eq!(logs.reading.len(), TOGETHER);
        logs.end().await;
        assert_eq!((logs.reading.len(), logs.is_new(&request("a"))), (0, true));
        logs.begin("a".to_owned(), pending());
        assert_eq!(logs.reading.len(), 1, "what has ended makes room");
    }

    async fn check(read: impl Future<Output = Result<LogPage, Failure>>, problem: Option<&str>) {
        let answer = answer(read).await;
        assert_eq!(answer.position.is_none(), problem.is_some());
        assert_eq!(answer.problem.as_deref(), problem);
        assert_eq!(answer.lines.is_empty(), problem.is_some());
    }

    fn request(id: &str) -> LogRequest {
        let deployment = colony_core::margo::DeploymentId::from_bytes([1; 16]);
        let (id, previous, lines) = (id.to_owned(), false, 1);
        let (since_seconds, service, after) = (None, None, None);
        LogRequest { id, deployment, previous, lines, since_seconds, service, after }
    }
}
