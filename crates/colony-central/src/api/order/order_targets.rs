//! Which sites an order about a deployment goes to, and the response.

use axum::Json;
use axum::http::StatusCode;
use colony_api::view::Accepted;
use colony_core::fleet::{DeploymentView, ReportedSite, SitePresence};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::order_rules::{self, Refusal};
use colony_core::site::Action;

use crate::api::extract::parse_name;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::{clock, command, plan, view};

/// The response to an order.
pub(crate) type OrderAnswer = (StatusCode, Json<Accepted>);

/// Orders to sites.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub given: Vec<(SiteName, Action)>,
    /// Why sites that the request names get no order.
    pub left_out: Vec<String>,
}

/// The sites an order about a deployment goes to.
pub(super) struct OrderTargets<'a> {
    pub app: &'a App,
    pub operator: &'a Operator,
    pub handle: &'a str,
    pub sites: &'a [String],
}

impl Orders {
    pub(crate) fn one(site: &SiteName, action: Action) -> Orders {
        Orders { given: vec![(site.clone(), action)], left_out: Vec::new() }
    }
}

impl OrderTargets<'_> {
    /// One order per site that can execute it; an error with the reasons if no
    /// site can.
    pub(super) async fn orders(
        &self,
        order: impl Fn(&DeploymentView) -> Action,
    ) -> Result<(DeploymentName, Orders), Fault> {
        let handle: DeploymentName = parse_name("name", self.handle)?;
        let named = plan::sites_by_name(self.app, self.operator, self.sites).await?;
        view::deployment(self.app, self.operator, &handle).await?;
        let fleet = self.app.brain.read().await?;
        let (mut given, mut refusals) = (Vec::new(), Vec::new());
        for (site, view) in fleet.sites_of(&handle) {
            if !named.is_empty() && !named.contains(site) || !self.operator.sees(site) {
                continue;
            }
            self.operator.require_role(Role::Operator, site)?;
            let state = ReportedSite { name: site, view };
            if view.deployment_named(&handle).is_none() {
                refusals.extend(order_rules::refused_file(&handle, &state));
            }
            for it in view.deployments_named(&handle) {
                let action = order(it);
                match order_rules::check(&action, &state) {
                    Ok(()) => given.push((site.clone(), action)),
                    Err(refusal) => refusals.push(refusal),
                }
            }
        }
        let mut refused: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
        let lacks = |it: &&SiteName| !fleet.sites_of(&handle).any(|at| at.0 == *it);
        let lacking = named.iter().filter(lacks);
        refused.extend(lacking.map(|it| format!("{it} has not reported deployment {handle}")));
        if given.is_empty() {
            // Every selected site was asked, and lacks what the order names.
            let asked = !refusals.is_empty() && refused.len() == refusals.len();
            let is_unknown = asked && refusals.iter().all(Refusal::is_unknown);
            let reasons = no_site(&handle, refused);
            return Err(match is_unknown {
                true => Fault::not_found(reasons),
                false => Fault::refused(reasons),
            });
        }
        // Without named sites the order goes to the sites that can execute it.
        let left_out = match named.is_empty() && !refused.is_empty() {
            true => {
                let sites: Vec<SiteName> = given.iter().map(|it| it.0.clone()).collect();
                vec![format!("only at {}: {}", joined(&sites), listed_reasons(refused))]
            }
            false => refused,
        };
        Ok((handle, Orders { given, left_out }))
    }
}

fn no_site(handle: &DeploymentName, mut refused: Vec<String>) -> String {
    refused.dedup();
    match refused.is_empty() {
        true => format!("none of the selected sites has reported deployment `{handle}` yet"),
        false => refused.join("; "),
    }
}

/// Issues orders. The response describes their effect and lists the sites that
/// are offline or have not confirmed yet.
pub(crate) async fn issue(
    app: &App,
    operator: &Operator,
    handle: Option<&DeploymentName>,
    orders: Orders,
    sentence: String,
) -> Result<OrderAnswer, Fault> {
    let given = command::issue(app, operator, &orders.given, handle).await?;
    let now = clock::wall();
    let fleet = app.brain.read().await?;
    let is_away = |site: &SiteName| {
        fleet.site(site).is_none_or(|it| it.presence(now) != SitePresence::Online)
    };
    let away: Vec<SiteName> = orders.given.iter().map(|it| it.0.clone()).filter(is_away).collect();
    let open = given.unconfirmed(app, &away).await;
    let mut sentence = match open.is_empty() && away.is_empty() {
        true => sentence,
        false => format!("ordered: {sentence}"),
    };
    if !away.is_empty() {
        let sites = joined(&away);
        sentence +=
            &format!("; site {sites} is offline and gets the order when it returns, within a day");
    }
    if !open.is_empty() {
        sentence += &format!("; site {} has not confirmed it yet", joined(&open));
    }
    for reason in orders.left_out {
        sentence += &format!("; {reason}");
    }
    Ok((StatusCode::ACCEPTED, Json(Accepted { sentence, event: Some(given.event) })))
}

/// The first reasons, and how many more there are.
fn listed_reasons(mut reasons: Vec<String>) -> String {
    const SHOWN: usize = 3;
    let more = reasons.len().saturating_sub(SHOWN);
    reasons.truncate(SHOWN);
    let text = reasons.join("; ");
    if more == 0 { text } else { format!("{text}; and {more} more") }
}

fn joined(sites: &[SiteName]) -> String {
    sites.iter().map(SiteName::as_str).collect::<Vec<_>>().join(", ")
}
