//! Which sites an order goes to, and the answer to it. Pure: decided from one
//! snapshot of the fleet.

use colony_core::event::HoldScope;
use colony_core::fleet::{Fleet, ReportedSite, SiteView};
use colony_core::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use colony_core::margo::Problem;
use colony_core::order_rules::{self, Refusal};
use colony_core::site::Action;

use super::names::NodeTarget;
use super::order_sentence::sentence;
use crate::problem::Kind;
use crate::render::{listed, unknown_deployment, unknown_node, unknown_site};
use crate::request::ReleaseWhat;
use crate::view::Accepted;

/// Orders to sites.
#[derive(Debug, Clone, PartialEq)]
pub struct Orders {
    pub given: Vec<(SiteName, Action)>,
    /// The deployment they are about.
    pub deployment: Option<DeploymentName>,
    /// Why sites that the request names get no order.
    left_out: Vec<String>,
}

/// Orders that an orchestrator has stored or executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issued {
    /// The id of the event before.
    pub event: String,
    /// Sites that are offline: they get the order when they return.
    pub offline: Vec<SiteName>,
    /// Sites that are online and have not confirmed the order yet.
    pub unconfirmed: Vec<SiteName>,
}

impl Orders {
    /// An order about a site as a whole.
    pub(super) fn of_site(
        fleet: &Fleet,
        sees: &dyn Fn(&SiteName) -> bool,
        site: &SiteName,
        action: impl FnOnce(&SiteView) -> Result<Action, Problem>,
    ) -> Result<Orders, Problem> {
        let view = fleet.site(site).ok_or_else(|| unknown_site(fleet, sees, site))?;
        let action = action(view)?;
        let checked = order_rules::check(&action, &ReportedSite { name: site, view });
        checked.map_err(|it| refused([it.to_string()]))?;
        Ok(Orders { given: vec![(site.clone(), action)], deployment: None, left_out: Vec::new() })
    }

    /// An order about a node.
    pub(super) fn of_node(
        fleet: &Fleet,
        sees: &dyn Fn(&SiteName) -> bool,
        (site, node): (&SiteName, &NodeName),
        action: Action,
    ) -> Result<Orders, Problem> {
        let view = fleet.site(site).ok_or_else(|| unknown_site(fleet, sees, site))?;
        if !view.nodes.contains_key(node) {
            return Err(unknown_node(fleet, site, node));
        }
        Orders::of_site(fleet, sees, site, |_| Ok(action))
    }

    /// The answer: the effect of the orders, and the sites that have not
    /// executed them yet or get none.
    pub(super) fn answer(self, issued: Issued) -> Accepted {
        let Issued { event, offline, unconfirmed } = issued;
        let given = self.given.first();
        let effect = given.map(|(site, it)| sentence(it, site, self.deployment.as_ref()));
        let mut text = effect.unwrap_or_default();
        if !(offline.is_empty() && unconfirmed.is_empty()) {
            text = format!("ordered: {text}");
        }
        if !offline.is_empty() {
            let sites = joined(&offline);
            text += &format!(
                "; site {sites} is offline and gets the order when it returns, within a day"
            );
        }
        if !unconfirmed.is_empty() {
            text += &format!("; site {} has not confirmed it yet", joined(&unconfirmed));
        }
        for reason in self.left_out {
            text += &format!("; {reason}");
        }
        Accepted { sentence: text, event: Some(event) }
    }
}

/// What the release of a site releases.
pub(super) fn site_release(
    what: ReleaseWhat,
    site: &SiteName,
    view: &SiteView,
) -> Result<Action, Problem> {
    Ok(match what {
        ReleaseWhat::Hold => Action::ReleaseHold { scope: HoldScope::Site },
        ReleaseWhat::Removal => Action::ReleaseRemoval,
        ReleaseWhat::History => {
            let held = view.holds.history.as_ref().map(|it| it.commit.clone());
            let none = || format!("nothing to accept: no rewritten history is held at {site}");
            Action::AcceptHistory { commit: held.ok_or_else(|| refused([none()]))? }
        }
    })
}

/// The sites that an order about a deployment goes to.
pub(super) struct OrderTargets<'a> {
    pub fleet: &'a Fleet,
    pub sees: &'a dyn Fn(&SiteName) -> bool,
    pub name: &'a DeploymentName,
    /// The sites that the request names; none: every site where it is.
    pub named: Vec<SiteName>,
}

impl OrderTargets<'_> {
    /// Refuses sites and a deployment that do not exist.
    pub(super) fn check(&self) -> Result<(), Problem> {
        for site in &self.named {
            self.fleet.site(site).ok_or_else(|| unknown_site(self.fleet, self.sees, site))?;
        }
        if self.fleet.sites_of(self.name).any(|it| (self.sees)(it.0)) {
            return Ok(());
        }
        Err(unknown_deployment(self.fleet, self.sees, self.name))
    }

    /// The sites that know the deployment and are selected.
    pub(super) fn sites(&self) -> impl Iterator<Item = (&SiteName, &SiteView)> {
        let selected = |site: &SiteName| self.named.is_empty() || self.named.contains(site);
        self.fleet.sites_of(self.name).filter(move |it| selected(it.0) && (self.sees)(it.0))
    }

    /// Limits the order to the site of a node.
    pub(super) fn at_node(&mut self, target: &NodeTarget) -> Result<(), Problem> {
        let node = &target.node;
        if let Some(site) = &target.site {
            if !self.named.is_empty() && !self.named.contains(site) {
                let named = joined(&self.named);
                let said = format!("node {site}/{node} is not at {named}, which `sites` names");
                return Err(Problem::field("node", said));
            }
            self.named = vec![site.clone()];
            return Ok(());
        }
        let there: Vec<SiteName> =
            self.sites().filter(|it| has_node(it.1, node)).map(|it| it.0.clone()).collect();
        match there.as_slice() {
            [] => Ok(()),
            [only] => {
                self.named = vec![only.clone()];
                Ok(())
            }
            several => {
                let nodes = listed(several.iter().map(|it| format!("{it}/{node}")), "");
                let said =
                    format!("several sites have a node `{node}`: say which; there is {nodes}");
                Err(Problem::field("node", said))
            }
        }
    }

    /// One order per deployment of that name and site that can execute it; an
    /// error with the reasons if no site can.
    pub(super) fn orders(
        &self,
        order: impl Fn(&DeploymentId) -> Action,
    ) -> Result<Orders, Problem> {
        let (mut given, mut refusals) = (Vec::new(), Vec::new());
        for (site, view) in self.sites() {
            let state = ReportedSite { name: site, view };
            if view.deployment_named(self.name).is_none() {
                refusals.extend(order_rules::refused_file(self.name, &state));
            }
            for it in view.deployments_named(self.name) {
                let action = order(&it.id);
                match order_rules::check(&action, &state) {
                    Ok(()) => given.push((site.clone(), action)),
                    Err(refusal) => refusals.push(refusal),
                }
            }
        }
        let lacking = self.lacking();
        if given.is_empty() {
            return Err(self.no_site(&refusals, lacking));
        }
        let reasons = texts(&refusals).chain(lacking).collect();
        let left_out = self.left_out(&given, reasons);
        Ok(Orders { given, deployment: Some(self.name.clone()), left_out })
    }

    /// Named sites that do not know the deployment.
    fn lacking(&self) -> Vec<String> {
        let knows = |site: &SiteName| self.fleet.sites_of(self.name).any(|it| it.0 == site);
        let lacking = self.named.iter().filter(|it| !knows(it));
        lacking.map(|it| format!("{it} has not reported deployment {}", self.name)).collect()
    }

    /// "Not found" if every selected site lacks what the order names.
    fn no_site(&self, refusals: &[Refusal], lacking: Vec<String>) -> Problem {
        let name = self.name;
        let is_unknown = !refusals.is_empty() && lacking.is_empty();
        let is_unknown = is_unknown && refusals.iter().all(Refusal::is_unknown);
        let mut reasons: Vec<String> = texts(refusals).chain(lacking).collect();
        reasons.dedup();
        if reasons.is_empty() {
            let said = format!("none of the selected sites has reported deployment `{name}` yet");
            return refused([said]);
        }
        match is_unknown {
            true => Kind::NotFound.problem(reasons.join("; ")),
            false => refused(reasons),
        }
    }

    /// Without named sites the order goes to the sites that can execute it.
    fn left_out(&self, given: &[(SiteName, Action)], reasons: Vec<String>) -> Vec<String> {
        if !self.named.is_empty() || reasons.is_empty() {
            return reasons;
        }
        let sites: Vec<SiteName> = given.iter().map(|it| it.0.clone()).collect();
        vec![format!("only at {}: {}", joined(&sites), first_reasons(reasons))]
    }
}

/// A placement can outlive its node.
fn has_node(view: &SiteView, node: &NodeName) -> bool {
    let placed = || view.placements.values().any(|it| it.contains_key(node));
    view.nodes.contains_key(node) || placed()
}

fn texts(refusals: &[Refusal]) -> impl Iterator<Item = String> {
    refusals.iter().map(Refusal::to_string)
}

fn refused(reasons: impl IntoIterator<Item = String>) -> Problem {
    let reasons: Vec<String> = reasons.into_iter().collect();
    Kind::Refused.problem(reasons.join("; "))
}

/// The first reasons, and how many more there are.
fn first_reasons(mut reasons: Vec<String>) -> String {
    const SHOWN: usize = 3;
    let more = reasons.len().saturating_sub(SHOWN);
    reasons.truncate(SHOWN);
    let text = reasons.join("; ");
    if more == 0 { text } else { format!("{text}; and {more} more") }
}

fn joined(sites: &[SiteName]) -> String {
    sites.iter().map(SiteName::as_str).collect::<Vec<_>>().join(", ")
}
