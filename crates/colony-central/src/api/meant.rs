//! Which sites an order about a deployment goes to, and what is answered.

use axum::Json;
use axum::http::StatusCode;
use colony_api::view::Accepted;
use colony_core::fleet::{DeploymentView, SiteView};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::site::Action;

use crate::app::App;
use crate::auth::{Operator, Role};
use crate::extract::name;
use crate::fault::Fault;
use crate::{clock, command, plan, view};

/// The answer to an order.
pub(super) type Taken = (StatusCode, Json<Accepted>);

type Orders = Vec<(SiteName, Action)>;

/// The sites an order about a deployment goes to.
pub(super) struct Meant<'a> {
    pub app: &'a App,
    pub operator: &'a Operator,
    pub handle: &'a str,
    pub sites: &'a [String],
}

impl Meant<'_> {
    /// One order per site that `order` has one for; if none, why not, by site.
    pub(super) async fn orders(
        &self,
        order: impl Fn(&SiteView, &DeploymentView) -> Result<Action, &'static str>,
    ) -> Result<(DeploymentName, Orders), Fault> {
        let handle: DeploymentName = name("name", self.handle)?;
        let named = plan::sites_of(self.app, self.operator, self.sites).await?;
        view::deployment(self.app, self.operator, &handle).await?;
        let fleet = self.app.brain.read().await?;
        let (mut orders, mut refused) = (Vec::new(), Vec::new());
        for (site, view) in fleet.sites_of(&handle) {
            if !named.is_empty() && !named.contains(site) || !self.operator.sees(site) {
                continue;
            }
            self.operator.must_be_at(Role::Operator, site)?;
            for it in view.deployments_named(&handle) {
                match order(view, it) {
                    Ok(action) => orders.push((site.clone(), action)),
                    Err(reason) => refused.push(format!("at {site} {reason}")),
                }
            }
        }
        match orders.is_empty() {
            true => Err(Fault::refused(no_site(&handle, refused))),
            false => Ok((handle, orders)),
        }
    }
}

/// What comes of the orders that a site has not acknowledged: the last word.
pub(super) fn when_done<T>(site: &SiteView, says: impl Fn(&Action) -> Option<T>) -> Option<T> {
    site.commands.values().rev().find_map(|it| says(&it.action))
}

fn no_site(handle: &DeploymentName, mut refused: Vec<String>) -> String {
    refused.dedup();
    match refused.is_empty() {
        true => format!("no site that is meant has told of {handle}"),
        false => format!("nobody is told about {handle}: {}", refused.join("; ")),
    }
}

pub(super) async fn give(
    app: &App,
    operator: &Operator,
    handle: Option<&DeploymentName>,
    orders: Orders,
    said: String,
) -> Result<Taken, Fault> {
    let event = command::give(app, operator, &orders, handle).await?;
    taken(app, said, &orders, event).await
}

/// Says what happens, and where it cannot happen at once.
pub(super) async fn taken(
    app: &App,
    said: String,
    orders: &[(SiteName, Action)],
    event: String,
) -> Result<Taken, Fault> {
    let fleet = app.brain.read().await?;
    let now = clock::wall();
    let away: Vec<String> = orders
        .iter()
        .filter(|(site, _)| {
            let heard = fleet.site(site).and_then(|it| it.head.last_heard);
            heard.is_none_or(|it| now.since(it) >= colony_core::fleet::SITE_SILENT)
        })
        .map(|it| it.0.to_string())
        .collect();
    let sentence = match away.is_empty() {
        true => said,
        false => format!(
            "{said}; site {} is not heard and is told when it returns, within a day",
            away.join(", ")
        ),
    };
    Ok((StatusCode::ACCEPTED, Json(Accepted { sentence, event: Some(event) })))
}
