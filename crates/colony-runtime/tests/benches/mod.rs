//! The engines of this crate for the list of behaviours.

mod compose;
#[cfg(feature = "kubernetes")]
mod helm;
mod table;

use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::node::{Action, Prepared};
use colony_runtime::{LogQuery, Runtime, Subject};

use crate::conformance::{App, LinePage};
#[cfg(feature = "kubernetes")]
pub(crate) use helm::HelmBench;

async fn perform(runtime: &Runtime, action: Action, app: &App) -> Result<Prepared, Failure> {
    let subject = Subject { document: app.document.clone(), component: app.component.clone() };
    let has_subject = action.fingerprint().is_some();
    runtime.perform(&action, has_subject.then_some(subject)).await
}

/// A node also looks from time to time.
async fn changed(runtime: &Runtime) {
    let _ = tokio::time::timeout(Duration::from_secs(2), runtime.changed()).await;
}

async fn lines(runtime: &Runtime, app: &App, after: &str, limit: u32) -> LinePage {
    let query = LogQuery { after: Some(after.to_owned()), lines: limit, ..LogQuery::default() };
    let page = runtime.logs(&app.id(), &query).await.unwrap();
    let lines = page.lines.into_iter().map(|it| it.text).collect();
    LinePage { lines, position: page.position }
}
