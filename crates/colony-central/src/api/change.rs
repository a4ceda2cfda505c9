//! Changes that wait for Git: list them, or cancel one.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::view::ChangeView;
use colony_core::event::CentralEvent;
use colony_core::fleet::{CentralChange, Fleet};
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::{Change, Write};

use crate::app::App;
use crate::auth::{Operator, Role};
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;
use crate::repo::{path_parts, site_of};

/// How long a cancellation waits for the writer, which may be writing this very
/// change.
const PATIENCE: Duration = Duration::from_secs(10);

/// List the changes that wait for Git, the oldest first
#[utoipa::path(get, path = "/api/v1/changes", tag = "changes",
    responses((status = 200, description = "The queue", body = Vec<ChangeView>)))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
) -> Result<Json<Vec<ChangeView>>, Fault> {
    let open = app.brain.store().changes_open().await?;
    let problem = app.repo.problem();
    let visible = open.into_iter().filter(|it| may(&operator, Role::Viewer, it).is_ok());
    Ok(Json(visible.map(|it| shown(it, problem.as_deref())).collect()))
}

/// Cancel a change that waits for Git
///
/// Nothing of it is written. What was planned with it is planned no more.
#[utoipa::path(delete, path = "/api/v1/changes/{id}", tag = "changes",
    params(("id" = String, Path)),
    responses((status = 204, description = "Cancelled")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    operator: Operator,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    operator.must_be(Role::Operator)?;
    // While this lock is held, the writer takes no change out of the queue.
    let Ok(_writing) = tokio::time::timeout(PATIENCE, app.writing.lock()).await else {
        return Err(Fault::later("changes are being written to Git; cancel again in a moment", 10));
    };
    let open = app.brain.store().changes_open().await?;
    let Some(change) = open.into_iter().find(|it| it.id == id) else {
        return Err(Fault::not_found(format!(
            "no change `{id}` waits for Git; `colony change list` shows those that do"
        )));
    };
    may(&operator, Role::Operator, &change)?;
    let now = clock::wall();
    app.brain
        .write(|fleet| Ok::<_, Fault>(((), take_back(fleet, &operator, &change, now))))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn take_back(fleet: &mut Fleet, operator: &Operator, change: &Change, now: Timestamp) -> Write {
    let mut write = Write { changes_done: vec![change.id.clone()], ..Write::default() };
    for edit in &change.edits {
        let parts = path_parts(&edit.path);
        if let Some((site, name)) = &parts {
            let target = fleet.site(site).and_then(|it| it.central_changes.get(name));
            if matches!(target, Some(CentralChange::Planned { .. })) {
                // The site exists: it was looked up above.
                fleet.change_dropped(site, name).ok();
            }
        }
        let site = parts.as_ref().map(|it| it.0.clone()).or_else(|| site_of(&edit.path));
        let name = parts.map(|it| it.1);
        let event = CentralEvent::ChangeCancelled {
            path: edit.path.clone(),
            message: change.message.clone(),
            change: change.id.clone(),
        };
        let place = (site.as_ref(), name.as_ref());
        write.events.push(own_event(&event, &operator.name, now, place));
    }
    write
}

/// Requires this role at every site that the change touches.
fn may(operator: &Operator, role: Role, change: &Change) -> Result<(), Fault> {
    for edit in &change.edits {
        match site(&edit.path) {
            Some(site) => operator.require_role(role, &site)?,
            None => operator.must_be_everywhere(role)?,
        }
    }
    Ok(())
}

fn site(path: &str) -> Option<SiteName> {
    path_parts(path).map(|it| it.0).or_else(|| site_of(path))
}

fn shown(change: Change, problem: Option<&str>) -> ChangeView {
    ChangeView {
        id: change.id,
        at: change.at,
        actor: change.actor,
        message: change.message,
        paths: change.edits.into_iter().map(|it| it.path).collect(),
        waits_for: problem.map(str::to_owned),
    }
}
