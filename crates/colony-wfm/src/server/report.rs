//! The calls of clients: capabilities, status, logs, health, renewal.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use colony_margo::problem::FieldError;
use colony_margo::{Capabilities, DeploymentStatus, DeviceId, Problem, ProblemType};
use http::StatusCode;

use super::caller::Caller;
use super::refusal::At;
use super::{Manager, Refusal, body};
use crate::health::NodeReport;
use crate::join::{Joined, RenewRequest};
use crate::manager_request::{LogAnswer, is_request_id};

const MAX_CAPABILITIES: usize = 256 * 1024;
const MAX_STATUS: usize = 512 * 1024;
/// JSON may escape one byte with six.
const MAX_LOGS: usize = 2 << 20;
const MAX_HEALTH: usize = 128 * 1024;
const MAX_RENEW: usize = 32 * 1024;

pub(super) async fn capabilities_put(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    At(device): At<String>,
    body: Body,
) -> Result<StatusCode, Refusal> {
    let invalid = |error: colony_margo::text::Invalid| body::invalid(error.to_string());
    let device: DeviceId = device.parse().map_err(invalid)?;
    let bytes = body::read(body, MAX_CAPABILITIES).await?;
    let parsed = Capabilities::parse(&bytes).map_err(|it| body::refuse(&bytes, &it))?.value;
    if *parsed.id() != device {
        return Err(differs("properties.id", device.as_str()).into());
    }
    let created = manager.capabilities_put(&client, device, parsed).await?;
    Ok(if created { StatusCode::CREATED } else { StatusCode::OK })
}

pub(super) async fn capabilities_delete(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    At(device): At<String>,
) -> Result<StatusCode, Refusal> {
    let missing = |_| Problem::new(ProblemType::DeviceNotFound);
    let device = device.parse::<DeviceId>().map_err(missing)?;
    manager.capabilities_delete(&client, device).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The deployment may be unknown and its id any text; only the ids in the path
/// and in the body must agree.
pub(super) async fn status(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    At(id): At<String>,
    body: Body,
) -> Result<StatusCode, Refusal> {
    let bytes = body::read(body, MAX_STATUS).await?;
    let parsed = DeploymentStatus::parse(&bytes).map_err(|it| body::refuse(&bytes, &it))?.value;
    if !parsed.deployment_id.eq_ignore_ascii_case(&id) {
        return Err(differs("deploymentId", &id).into());
    }
    manager.status(&client, parsed).await?;
    Ok(StatusCode::OK)
}

pub(super) async fn logs(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    At(request): At<String>,
    body: Body,
) -> Result<StatusCode, Refusal> {
    if !is_request_id(&request) {
        return Err(Problem::about_blank(404).into());
    }
    let answer: LogAnswer = body::json(body, MAX_LOGS).await?;
    manager.logs(&client, &request, answer.bounded()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn health(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    body: Body,
) -> Result<StatusCode, Refusal> {
    let report: NodeReport = body::json(body, MAX_HEALTH).await?;
    manager.health(&client, report.bounded()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn renew(
    State(manager): State<Arc<dyn Manager>>,
    Caller(client): Caller,
    body: Body,
) -> Result<Json<Joined>, Refusal> {
    let request: RenewRequest = body::json(body, MAX_RENEW).await?;
    Ok(Json(manager.renew(&client, &request.csr).await?))
}

fn differs(field: &str, path: &str) -> Problem {
    let message = format!("is not `{path:.512}`, as the path says");
    let errors = vec![FieldError { field: field.to_owned(), message }];
    Problem { errors, ..Problem::new(ProblemType::SemanticError) }
}
