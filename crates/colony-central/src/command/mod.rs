//! Orders to sites: numbered, kept until they are acknowledged, expiring.
//! Beside them: forced deletions, and requests that a site answers while an
//! operator waits.

pub(crate) mod force;
pub(crate) mod relay;

use std::time::Duration;

use colony_core::event::CentralEvent;
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentName, SiteName};
use colony_core::site::Action;
use colony_core::time::Timestamp;
use colony_store::{NewEvent, Write};

use crate::app::App;
use crate::auth::Operator;
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;

/// An order that its site has not fetched for this long is no longer executed.
const EXPIRES: Duration = Duration::from_secs(24 * 3600);

/// One order for one site.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    pub site: &'a SiteName,
    pub action: &'a Action,
    /// The deployment it is about, for readers of the log.
    pub deployment: Option<&'a DeploymentName>,
}

impl Order<'_> {
    /// Queues the order; the event names the operator that gave it.
    pub(crate) fn issue(
        &self,
        fleet: &mut Fleet,
        by: &str,
        now: Timestamp,
    ) -> Result<NewEvent, Fault> {
        let expires = now.after(EXPIRES);
        let given = fleet.command(self.site, self.action.clone(), by, expires);
        let command = given.map_err(|it| Fault::not_found(it.to_string()))?;
        let (action, number) = (command.action, command.number);
        let event = CentralEvent::CommandSent { action, number, expires };
        Ok(own_event(&event, by, now, (Some(self.site), self.deployment)))
    }
}

/// How long a response waits for sites to confirm an order.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(3);

/// Orders that were given.
#[derive(Debug)]
pub(crate) struct IssuedCommand {
    /// The id of the event before.
    pub event: String,
    numbers: Vec<(SiteName, u64)>,
}

/// Gives orders in one transaction.
pub(crate) async fn issue(
    app: &App,
    operator: &Operator,
    orders: &[(SiteName, Action)],
    deployment: Option<&DeploymentName>,
) -> Result<IssuedCommand, Fault> {
    let event = crate::view::event_id(app, *app.brain.head().borrow());
    let now = clock::wall();
    let numbers = app
        .brain
        .write(|fleet| {
            let (mut events, mut numbers) = (Vec::new(), Vec::new());
            for (site, action) in orders {
                let order = Order { site, action, deployment };
                events.push(order.issue(fleet, &operator.name, now)?);
                let number = fleet.site(site).map_or(0, |it| it.head.commands_last);
                numbers.push((site.clone(), number));
            }
            Ok::<_, Fault>((numbers, Write { events, ..Write::default() }))
        })
        .await?;
    colony_process::fail::hit(colony_process::fail::Point::CentralOrderStored);
    Ok(IssuedCommand { event, numbers })
}

impl IssuedCommand {
    /// The sites that have not confirmed their order after a moment; those in
    /// `away` are not waited for.
    pub(crate) async fn unconfirmed(&self, app: &App, away: &[SiteName]) -> Vec<SiteName> {
        let open = || self.unconfirmed_in(&app.brain.snapshot(), away);
        let mut head = app.brain.head();
        let confirmed = async { while !open().is_empty() && head.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(CONFIRMED_WITHIN, confirmed).await;
        open()
    }

    fn unconfirmed_in(&self, fleet: &Fleet, away: &[SiteName]) -> Vec<SiteName> {
        let done = |site: &SiteName| fleet.site(site).map_or(0, |it| it.head.commands_done);
        let open = self.numbers.iter().filter(|it| !away.contains(&it.0) && done(&it.0) < it.1);
        open.map(|it| it.0.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use axum::extract::State;
    use colony_api::site::EventBatch;
    use colony_core::site::Input;
    use colony_testkit::Plant;

    use super::*;
    use crate::api::extract::JsonBody;
    use crate::auth::Local;
    use crate::link;

    #[test]
    fn site_that_is_there_has_confirmed_its_order_with_its_number() {
        let (mut fleet, mut plant) = (Fleet::new(), Plant::new());
        let site = plant.site.name().clone();
        fleet.site_add(&site);
        fleet.join(&site, Timestamp(0), false).expect("it joins");
        let command = fleet.command(&site, Action::ReleaseRemoval, "ana", Timestamp(u64::MAX));
        let command = command.expect("an order");
        let numbers = vec![(site.clone(), command.number.expect("a number"))];
        let given = IssuedCommand { event: String::new(), numbers };
        let all = [site.clone()];
        assert_eq!(given.unconfirmed_in(&fleet, &[]), all);
        assert_eq!(given.unconfirmed_in(&fleet, &all), [], "it is away");

        let _ = plant.step(Input::Command(command));
        let _ = fleet.apply(&site, &plant.events, Timestamp(0)).expect("its log");
        assert_eq!(given.unconfirmed_in(&fleet, &[]), []);
        assert_eq!(given.unconfirmed_in(&fleet, &all), []);
    }

    #[tokio::test]
    async fn answer_to_an_order_waits_until_the_site_confirms_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let (app, mut plant) = (App::with_home(dir.path()).await, Plant::new());
        let site = plant.site.name().clone();
        let orders = [(site.clone(), Action::ReleaseRemoval)];
        let given = issue(&app, &Operator::admin(), &orders, None).await.expect("an order");

        let mut answer = pin!(given.unconfirmed(&app, &[]));
        let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "{polled:?}");
        let command = app.brain.snapshot().commands_open(&site)[0].clone();
        let _ = plant.step(Input::Command(command));
        let local = Local { site, incarnation: Some(0), key: None };
        let batch = EventBatch { incarnation: 0, events: plant.events, answers: None };
        let taken = link::events::take(State(app.clone()), local, JsonBody(batch)).await;
        assert!(taken.is_ok(), "{taken:?}");

        assert_eq!(answer.await, []);
    }
}
