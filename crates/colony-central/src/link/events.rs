//! A batch of a site's log: stored with its effects, or refused as a whole.

use axum::Json;
use axum::extract::State;
use colony_api::problem::Kind;
use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::CentralEvent;
use colony_core::fleet::{AnswersTaken, Applied, BatchRefusal, Effect, Fleet};
use colony_core::id::{DeploymentId, SiteName};
use colony_core::margo::problem::{Problem, ProblemType};
use colony_core::site::Action;
use colony_core::time::Timestamp;
use colony_store::{NewEvent, Write};

use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::Local;
use crate::brain::{BatchNames, batch_events, own_event, rows_of};
use crate::clock;
use crate::command::{Order, force};
use crate::fault::Fault;

/// Take the next events of a site's log
#[utoipa::path(post, path = "/api/v1/sites/{site}/events", tag = "site link",
    params(("site" = String, Path)), request_body = EventBatch,
    responses((status = 200, description = "Stored", body = BatchAnswer)))]
pub(crate) async fn take(
    State(app): State<App>,
    local: Local,
    JsonBody(batch): JsonBody<EventBatch>,
) -> Result<Json<BatchAnswer>, Fault> {
    let forced_deletions = app.forces.due(&batch.events);
    let now = clock::wall();
    let applied =
        app.brain.write(|fleet| apply(fleet, &local.site, &batch, &forced_deletions, now)).await;
    let (next_seq, unverified, reverts, answers_incomplete) = match applied {
        Ok(Outcome::Taken(it, answers)) => {
            (it.next_seq, it.unverified, has_reverts(&it), answers == AnswersTaken::Incomplete)
        }
        Ok(Outcome::Rewind(next_seq)) => {
            return Ok(Json(BatchAnswer { next_seq, answers_incomplete: true }));
        }
        Err(fault) => {
            app.metrics.batches_refused.inc();
            return Err(fault);
        }
    };
    if let Some((seq, hash)) = unverified {
        let stored = app.brain.store().event_hash(&local.site, batch.incarnation, seq).await?;
        if stored != Some(hash) {
            app.metrics.batches_refused.inc();
            return Err(diverged(&format!("event {seq} differs from what was stored before")));
        }
        return Ok(Json(BatchAnswer { next_seq, answers_incomplete }));
    }
    colony_process::fail::hit(colony_process::fail::Point::CentralBatchStored);
    forced_deletions.iter().for_each(|it| app.forces.done(&it.0));
    tracing::debug!(site = %local.site, events = batch.events.len(), "stored events");
    app.metrics.events.inc_by(batch.events.len() as u64);
    if reverts {
        app.writer.wake();
    }
    Ok(Json(BatchAnswer { next_seq, answers_incomplete }))
}

enum Outcome {
    Taken(Box<Applied>, AnswersTaken),
    /// Events before the batch are missing: the LO has to send from this number
    /// on.
    Rewind(u64),
}

fn apply(
    fleet: &mut Fleet,
    site: &SiteName,
    batch: &EventBatch,
    forced_deletions: &[((SiteName, DeploymentId), String)],
    now: Timestamp,
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
    // Again after the batch: a deployment may appear in it, or vanish.
    names.note(fleet.site(site), &batch.events);
    let mut events = batch_events(&applied.fresh, &applied.hashes, &names);
    events.extend(applied.effects.iter().filter_map(|it| flagged(it, now)));
    // While old events still have to be compared, the batch has no other
    // effects.
    let compared = applied.unverified.is_none();
    let answers = match &batch.answers {
        Some(it) if compared => {
            fleet.answers_apply(site, it).map_err(|it| Fault::not_found(it.to_string()))?
        }
        Some(_) => AnswersTaken::Incomplete,
        None => AnswersTaken::Stored,
    };
    let rows = rows_of(fleet, applied.changed.keys());
    let mut write = Write { rows, ..Write::default() };
    for ((site, id), by) in forced_deletions.iter().filter(|_| compared) {
        let action = Action::Force { deployment: id.clone(), node: None };
        events.push(Order { site, action: &action, deployment: None }.issue(fleet, by, now)?);
        write.notes.push(force::note(&(site.clone(), id.clone()), None));
    }
    write.events = events;
    Ok((Outcome::Taken(Box::new(applied), answers), write))
}

fn has_reverts(applied: &Applied) -> bool {
    applied.effects.iter().any(|it| matches!(it, Effect::Revert(_)))
}

/// The event for a transition that does not fit the table: it is stored and
/// flagged.
fn flagged(effect: &Effect, now: Timestamp) -> Option<NewEvent> {
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

#[cfg(test)]
mod tests {
    use colony_core::event::{Body, Event};
    use colony_core::fleet::RECENT_LIMIT;
    use colony_core::state::State as PlacementState;
    use colony_core::why::AnswerUpdate;
    use colony_store::EventFilter;
    use colony_testkit::{App as Application, Plant};

    use super::*;

    #[tokio::test]
    async fn site_is_asked_for_all_its_answers_when_some_are_missing() {
        let dir = tempfile::tempdir().expect("a folder");
        let app = App::with_home(dir.path()).await;
        for (number, complete, missing) in
            [(1, false, true), (1, true, false), (2, false, false), (4, false, true)]
        {
            let changed = Default::default();
            let answers = Some(AnswerUpdate { session: 1, number, complete, changed });
            let batch = EventBatch { incarnation: 0, events: Vec::new(), answers };
            let answer = send(&app, batch).await.expect("stored");
            assert_eq!(answer.answers_incomplete, missing, "{number} {complete}");
        }
    }

    #[tokio::test]
    async fn events_that_are_no_longer_remembered_are_compared_with_the_stored_ones() {
        let dir = tempfile::tempdir().expect("a folder");
        let (app, mut plant) = (App::with_home(dir.path()).await, Plant::new());
        (0..=RECENT_LIMIT).for_each(|it| plant.join(&format!("n{it}")));
        let mut events = plant.events;
        push(&app, &events).await.expect("stored");

        push(&app, &events[..1]).await.expect("it is the stored one");
        events[0].at.0 += 1;
        let changed = Default::default();
        let answers = Some(AnswerUpdate { session: 1, number: 7, complete: true, changed });
        let batch = EventBatch { incarnation: 0, events: events[..1].to_vec(), answers };
        let refused = send(&app, batch).await.expect_err("it differs");

        let said = format!("{refused:?}");
        assert!(said.contains("event 1 differs from what was stored before"), "{said}");
        let answers =
            app.brain.read().await.expect("a fleet").site(&home()).map(|it| it.head.answers);
        assert_eq!(answers, Some(None), "nothing of a refused batch is taken");
    }

    #[tokio::test]
    async fn transition_that_no_rule_allows_is_on_record() {
        let dir = tempfile::tempdir().expect("a folder");
        let (app, mut plant) = (App::with_home(dir.path()).await, Plant::new());
        plant.join("a");
        plant.deploy(&Application::new("hello", "1.0.0"));
        plant.converge();
        let mut events = plant.events;
        let last = events.iter().rposition(|it| matches!(it.body, Body::StateTransition(_)));
        events.truncate(last.expect("something moved") + 1);
        let Some(Body::StateTransition(it)) = events.last_mut().map(|it| &mut it.body) else {
            unreachable!()
        };
        it.to = PlacementState::RollingBack;

        push(&app, &events).await.expect("it is stored all the same");

        let filter = EventFilter { kind: Some("flagged".to_owned()), ..EventFilter::default() };
        let stored = app.brain.store().events(&filter, 0, 10).await.expect("events");
        let said: Vec<_> =
            stored.iter().map(|it| (it.actor.as_str(), it.node.as_deref())).collect();
        assert_eq!(said, [("colony", Some("a"))]);
        assert!(stored[0].body.to_string().contains("which no rule allows"), "{:?}", stored[0]);
    }

    fn home() -> SiteName {
        "home".parse().expect("a name")
    }

    async fn push(app: &App, events: &[Event]) -> Result<BatchAnswer, Fault> {
        send(app, EventBatch { incarnation: 0, events: events.to_vec(), answers: None }).await
    }

    async fn send(app: &App, batch: EventBatch) -> Result<BatchAnswer, Fault> {
        let local = Local { site: home(), incarnation: Some(0), key: None };
        take(State(app.clone()), local, JsonBody(batch)).await.map(|it| it.0)
    }
}
