//! Watches the cluster for changes of releases and workloads. What changed is
//! not read here: a change only causes an observation.

use std::time::Duration;

use futures_util::AsyncBufReadExt;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

use crate::helm::api::KubeApi;
use crate::helm::kube_error::KubeError;
use crate::helm::observation::MANAGED;
use crate::helm::workload::Kind;
use crate::news::News;
use crate::url::escaped;

/// How long the API server holds a watch, in seconds.
const HELD: u64 = 240;
/// How much longer it may take to end it.
const GRACE: Duration = Duration::from_secs(30);
/// The pause before a watch that failed.
const AWAY: Duration = Duration::from_secs(1);
const AWAY_LONGEST: Duration = Duration::from_secs(15);

/// Watches until it is dropped.
pub(super) async fn watch(api: &KubeApi, news: &News, records: &str) {
    let workloads = Kind::ALL.map(|it| (it.path(None), MANAGED.to_owned()));
    let records = ("/api/v1/secrets".to_owned(), records.to_owned());
    let all = workloads.into_iter().chain([records]);
    join_all(all.map(|(path, selector)| watch_one(api, news, path, selector))).await;
}

async fn watch_one(api: &KubeApi, news: &News, path: String, selector: String) {
    let path =
        format!("{path}?watch=true&timeoutSeconds={HELD}&labelSelector={}", escaped(&selector));
    let mut pause = AWAY;
    loop {
        let begun = Instant::now();
        if let Err(error) = follow(api, news, &path).await {
            debug!("a watch of the cluster ended: {error}");
        }
        // Changes between two watches are reported by the second one.
        if begun.elapsed() > AWAY_LONGEST {
            pause = AWAY;
            continue;
        }
        sleep(pause).await;
        pause = (pause * 2).min(AWAY_LONGEST);
    }
}

async fn follow(api: &KubeApi, news: &News, path: &str) -> Result<(), KubeError> {
    let mut changes = Box::pin(api.watch(path).await?);
    let longest = Duration::from_secs(HELD) + GRACE;
    loop {
        // The bytes are not collected, so that no change is too large.
        let length = match timeout(longest, changes.fill_buf()).await {
            Ok(Ok([])) => return Ok(()),
            Ok(Ok(bytes)) => bytes.len(),
            Ok(Err(error)) => return Err(KubeError::Unavailable(error.to_string())),
            Err(_) => return Err(KubeError::Timeout),
        };
        changes.consume_unpin(length);
        news.notify();
    }
}
