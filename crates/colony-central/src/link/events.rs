//! A batch of a site's log: stored with its effects, or refused as a whole.

use axum::Json;
use axum::extract::State;
use colony_api::problem::Kind;
use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::CentralEvent;
use colony_core::fleet::{AnswersTaken, Applied, BatchRefusal, Effect, Fleet};
use colony_core::id::{DeploymentId, SiteName};
use colony_core::site::Action;
use colony_core::time::Wall;
use colony_margo::problem::{Problem, ProblemType};
use colony_store::{NewEvent, Write};

use crate::app::App;
use crate::auth::Local;
use crate::brain::{BatchNames, batch_events, own_event, rows_of};
use crate::clock;
use crate::command::Order;
use crate::extract::JsonBody;
use crate::fault::Fault;
use crate::force;

/// Take the next events of a site's log
#[utoipa::path(post, path = "/api/v1/sites/{site}/events", tag = "site link",
    params(("site" = String, Path)), request_body = EventBatch,
    responses((status = 200, description = "Stored", body = BatchAnswer)))]
pub(crate) async fn take(
    State(app): State<App>,
    local: Local,
    JsonBody(batch): JsonBody<EventBatch>,
) -> Result<Json<BatchAnswer>, Fault> {
    let due = app.forces.due(&batch.events);
    let now = clock::wall();
    let applied = app.brain.write(|fleet| apply(fleet, &local.site, &batch, &due, now)).await;
    let (next_seq, unproven, reverts, answers_incomplete) = match applied {
        Ok(Outcome::Taken(it, answers)) => {
            (it.next_seq, it.unproven, has_reverts(&it), answers == AnswersTaken::Incomplete)
        }
        Ok(Outcome::Rewind(next_seq)) => {
            return Ok(Json(BatchAnswer { next_seq, answers_incomplete: true }));
        }
        Err(fault) => {
            app.metrics.batches_refused.inc();
            return Err(fault);
        }
    };
    if let Some((seq, hash)) = unproven {
        let stored = app.brain.store().event_hash(&local.site, batch.incarnation, seq).await?;
        if stored != Some(hash) {
            return Err(diverged(&format!("event {seq} differs from what was stored before")));
        }
    }
    colony_fail::hit(colony_fail::Point::CentralBatchStored);
    due.iter().for_each(|it| app.forces.done(&it.0));
    tracing::debug!(site = %local.site, events = batch.events.len(), "stored events");
    app.metrics.events.inc_by(batch.events.len() as u64);
    if reverts {
        app.writer.wake();
    }
    Ok(Json(BatchAnswer { next_seq, answers_incomplete }))
}

enum Outcome {
    Taken(Box<Applied>, AnswersTaken),
    /// Something before the batch is missing: the LO goes back to it.
    Rewind(u64),
}

fn apply(
    fleet: &mut Fleet,
    site: &SiteName,
    batch: &EventBatch,
    due: &[((SiteName, DeploymentId), String)],
    now: Wall,
) -> Result<(Outcome, Write), Fault> {
    let mut names = BatchNames::default();
    names.note(fleet.site(site), &batch.events);
    let applied = match fleet.apply(site, &batch.events, now) {
        Ok(applied) => applied,
        Err(BatchRefusal::Gap { next_seq }) => {
            return Ok((Outcome::Rewind(next_seq), Write::default()));
        }
        Err(refusal) => return Err(refused(&refusal)),
    };
    names.note(fleet.site(site), &batch.events);
    let mut events = batch_events(&applied.fresh, &applied.hashes, &names);
    events.extend(applied.effects.iter().filter_map(|it| flagged(it, now)));
    let answers = match &batch.answers {
        Some(it) => fleet.answers_apply(site, it).map_err(|it| Fault::not_found(it.to_string()))?,
        None => AnswersTaken::Stored,
    };
    let rows = rows_of(fleet, applied.changed.keys());
    let mut write = Write { rows, ..Write::default() };
    for ((site, id), by) in due {
        let action = Action::Force { deployment: id.clone(), node: None };
        events.push(Order { site, action: &action, deployment: None }.give(fleet, by, now)?);
        write.notes.push(force::note(&(site.clone(), id.clone()), None));
    }
    write.events = events;
    Ok((Outcome::Taken(Box::new(applied), answers), write))
}

fn has_reverts(applied: &Applied) -> bool {
    applied.effects.iter().any(|it| matches!(it, Effect::Revert(_)))
}

/// What does not fit the table is stored, and said to be odd.
fn flagged(effect: &Effect, now: Wall) -> Option<NewEvent> {
    let Effect::Flagged { site, placement, flag } = effect else { return None };
    let event = CentralEvent::Flagged {
        node: placement.node.clone(),
        deployment: placement.deployment.clone(),
        flag: flag.to_string(),
    };
    Some(own_event(&event, "colony", now, (Some(site), None)))
}

fn refused(refusal: &BatchRefusal) -> Fault {
    let said = refusal.to_string();
    match refusal {
        BatchRefusal::Fenced { current } => Fault::fenced(*current),
        BatchRefusal::Diverged { .. } | BatchRefusal::UnknownIncarnation(_) => diverged(&said),
        BatchRefusal::UnknownSite(_) => Fault::not_found(said),
        BatchRefusal::OtherSite { .. } => Fault::forbidden(said),
        BatchRefusal::TooLarge { .. } => Problem::about_blank(413).detail(said).into(),
        BatchRefusal::Gap { .. } => Problem::new(ProblemType::InvalidRequest).detail(said).into(),
    }
}

fn diverged(said: &str) -> Fault {
    Kind::Diverged.problem(format!("{said}; the site's orchestrator has to join again")).into()
}
