//! Orders of the site engineer: executed here, reported to central by events.

use axum::Json;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{Path, State};
use axum::routing::{MethodRouter, post};

use colony_api::problem::Kind;
use colony_api::request::{
    Hold, NodeOrder, QuarantineRelease, Release, ReleaseWhat, Retry, Steer, Steering,
};
use colony_api::view::Accepted;
use colony_core::event::HoldScope;
use colony_core::id::{DeploymentId, NodeName};
use colony_core::margo::Problem;
use colony_core::order_rules;
use colony_core::site::{Action, Command};
use colony_wfm::Refusal;
use colony_wfm::server::JsonBody;

use super::{ApiState, Caller, event};
use crate::problem;

type Answer = Result<Json<Accepted>, Refusal>;

pub(super) async fn site_hold(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path(site): Path<String>,
    JsonBody(hold): JsonBody<Hold>,
) -> Answer {
    desk.own(&site)?;
    let action = Action::Hold { scope: HoldScope::Site, note: hold.note };
    desk.order(&caller, action, format!("{site} starts nothing until it is released")).await
}

pub(super) async fn site_release(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path(site): Path<String>,
    JsonBody(release): JsonBody<Release>,
) -> Answer {
    desk.own(&site)?;
    let (action, sentence) = match release.what {
        ReleaseWhat::Hold => {
            (Action::ReleaseHold { scope: HoldScope::Site }, format!("{site} goes on"))
        }
        ReleaseWhat::Removal => (Action::ReleaseRemoval, "what Git removed is removed".to_owned()),
        ReleaseWhat::History => {
            let held = desk.brain.read(|site, _| site.held_history().cloned()).await;
            let nothing = || Kind::Refused.problem("no rewritten history is held");
            let commit = held.map_err(problem::of_brain)?.ok_or_else(nothing)?.commit;
            let sentence = format!("the history at {} is taken", commit.short());
            (Action::AcceptHistory { commit }, sentence)
        }
    };
    desk.order(&caller, action, sentence).await
}

pub(super) async fn deployment_hold(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path(name): Path<String>,
    JsonBody(hold): JsonBody<Hold>,
) -> Answer {
    desk.own_all(&hold.sites)?;
    let scope = HoldScope::Deployment(desk.ordered_id(&name).await?);
    let action = Action::Hold { scope, note: hold.note };
    desk.order(&caller, action, format!("{name} starts nothing until it is released")).await
}

pub(super) async fn deployment_release(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path(name): Path<String>,
    JsonBody(release): JsonBody<Release>,
) -> Answer {
    desk.own_all(&release.sites)?;
    let scope = HoldScope::Deployment(desk.ordered_id(&name).await?);
    desk.order(&caller, Action::ReleaseHold { scope }, format!("{name} goes on")).await
}

pub(super) async fn deployment_retry(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path(name): Path<String>,
    JsonBody(retry): JsonBody<Retry>,
) -> Answer {
    desk.own_all(&retry.sites)?;
    let deployment = desk.ordered_id(&name).await?;
    let node = retry.node.map(|it| desk.node_named(&it)).transpose()?;
    let action = Action::Retry { deployment, node };
    desk.order(&caller, action, format!("what failed of {name} is tried again")).await
}

pub(super) async fn quarantine_release(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path(name): Path<String>,
    JsonBody(release): JsonBody<QuarantineRelease>,
) -> Answer {
    desk.own_all(&release.sites)?;
    let deployment = desk.ordered_id(&name).await?;
    let action = Action::ReleaseQuarantine { deployment };
    desk.order(&caller, action, format!("the quarantined versions of {name} may be tried again"))
        .await
}

/// `POST /api/v1/deployments/{name}/{promote|pause|resume|abort}`
pub(super) fn deployment_steer(what: Steering) -> MethodRouter<ApiState> {
    post(
        async move |State(desk): State<ApiState>,
                    ConnectInfo(caller): ConnectInfo<Caller>,
                    Path(name): Path<String>,
                    JsonBody(steer): JsonBody<Steer>| {
            desk.own_all(&steer.sites)?;
            desk.steer(&caller, &name, what, steer.note).await
        },
    )
}

/// `POST /api/v1/nodes/{site}/{node}/{cordon|uncordon|retire}`
pub(super) async fn node_order(
    State(desk): State<ApiState>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Path((site, node, order)): Path<(String, String, String)>,
) -> Answer {
    desk.own(&site)?;
    let node = desk.node_named(&node)?;
    let Some(order) = NodeOrder::ALL.into_iter().find(|it| it.name() == order) else {
        let said =
            format!("unknown command `{order}` for a node: expected cordon, uncordon or retire");
        return Err(Kind::NotFound.problem(said).into());
    };
    let sentence = format!("node {site}/{node} {}", order.sentence());
    desk.order(&caller, order.action(node), sentence).await
}

impl ApiState {
    async fn steer(&self, caller: &Caller, name: &str, what: Steering, note: String) -> Answer {
        let deployment = self.ordered_id(name).await?;
        let action = match what {
            Steering::Promote => Action::Promote { deployment },
            Steering::Pause => Action::Pause { deployment, note },
            Steering::Resume => Action::Resume { deployment },
            Steering::Abort => Action::Abort { deployment, note },
        };
        self.order(caller, action, format!("{name} {}", what.sentence())).await
    }

    async fn order(&self, caller: &Caller, action: Action, sentence: String) -> Answer {
        let before = *self.brain.notifiers().head().borrow();
        let command = Command { number: None, by: caller.actor(), expires: None, action };
        self.orders.execute(command).await.map_err(problem::of_brain)?;
        let event = Some(event::id(self.site_node.incarnation, before.saturating_sub(1)));
        Ok(Json(Accepted { sentence, event }))
    }

    /// Refuses the name of another site.
    pub(super) fn own(&self, site: &str) -> Result<(), Problem> {
        let own = self.site_node.site.as_str();
        if site == own {
            return Ok(());
        }
        Err(Kind::NotFound.problem(format!("this is site `{own}`, not `{site}`")))
    }

    /// Refuses an order that names another site.
    fn own_all(&self, sites: &[String]) -> Result<(), Problem> {
        sites.iter().try_for_each(|it| self.own(it))
    }

    /// The deployment that an order is about.
    async fn ordered_id(&self, text: &str) -> Result<DeploymentId, Problem> {
        let unknown = match self.deployment_id(text).await {
            Ok(id) => return Ok(id),
            Err(problem) => problem,
        };
        let Ok(name) = text.parse() else { return Err(unknown) };
        let refusal = self.brain.read(|site, _| order_rules::refused_file(&name, site)).await;
        let refusal = refusal.map_err(problem::of_brain)?;
        Err(refusal.map_or(unknown, |it| Kind::Refused.problem(it.to_string())))
    }

    pub(super) async fn deployment_id(&self, name: &str) -> Result<DeploymentId, Problem> {
        let unknown = || {
            let site = &self.site_node.site;
            Kind::NotFound.problem(format!("site `{site}` has no deployment `{name}`"))
        };
        let parsed = name.parse().map_err(|_| unknown())?;
        let found = self.brain.read(|site, _| {
            let named = site.deployment_named(&parsed);
            // A deployment that left Git is found as long as parts of it
            // remain.
            let found = named.or_else(|| site.deployments().find(|it| it.name == parsed));
            found.map(|it| it.id.clone())
        });
        found.await.map_err(problem::of_brain)?.ok_or_else(unknown)
    }

    /// `node` or `<site>/<node>`.
    pub(super) fn node_named(&self, text: &str) -> Result<NodeName, Problem> {
        let node = match text.split_once('/') {
            Some((site, node)) => {
                self.own(site)?;
                node
            }
            None => text,
        };
        let unknown = || Kind::NotFound.problem(format!("there is no node `{node}` here"));
        let name: NodeName = node.parse().map_err(|_| unknown())?;
        self.brain.notifiers().has(&name).then_some(name).ok_or_else(unknown)
    }
}
