//! Health reports that sites relay, since CO cannot connect to them.

use axum::extract::State;
use axum::http::StatusCode;
use colony_api::site::NodesReport;
use colony_core::id::SiteName;
use colony_core::margo::Digest;
use serde::{Deserialize, Serialize};

use super::authority;
use crate::api::extract::{JsonBody, parse_name};
use crate::app::{App, Reports, lasting};
use crate::auth::Local;
use crate::clock;
use crate::fault::Fault;
use colony_core::time::Timestamp;

const PREFIX: &str = "site-report/";

/// A report as it is stored, with its time of arrival.
#[derive(Debug, Serialize, Deserialize)]
struct StoredNode {
    at: Timestamp,
    report: NodesReport,
}

/// Take the health of a site's orchestrator and nodes
#[utoipa::path(put, path = "/api/v1/sites/{site}/nodes", tag = "site link",
    params(("site" = String, Path)), request_body = NodesReport,
    responses((status = 204, description = "Taken")))]
pub(crate) async fn report(
    State(app): State<App>,
    local: Local,
    JsonBody(report): JsonBody<NodesReport>,
) -> Result<StatusCode, Fault> {
    let at = clock::wall();
    let ca: Digest = parse_name("ca", &report.ca)?;
    authority::check(&app, &local, &ca.to_string(), at).await?;
    let kept = StoredNode { at, report: lasting(report.clone()) };
    if app.reports.put(&local.site, at, report) {
        let value = serde_json::to_value(&kept).map_err(anyhow::Error::from)?;
        app.brain.store().note_put(&format!("{PREFIX}{}", local.site), &value).await?;
        colony_process::fail::hit(colony_process::fail::Point::CentralReportStored);
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Reads the reports of sites from before a restart.
pub(crate) async fn restore(
    store: &colony_store::CentralStore,
) -> Result<Reports, colony_store::Error> {
    let reports = Reports::new();
    for (key, value) in store.notes(PREFIX).await? {
        let site = key.strip_prefix(PREFIX).and_then(|it| it.parse::<SiteName>().ok());
        if let (Some(site), Ok(kept)) = (site, serde_json::from_value::<StoredNode>(value)) {
            reports.put(&site, kept.at, kept.report);
        }
    }
    Ok(reports)
}
