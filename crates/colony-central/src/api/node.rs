//! Nodes.

use axum::extract::{Path, State};
use colony_api::view::Accepted;
use colony_core::id::{NodeName, SiteName};
use colony_core::site::Action;

use crate::app::App;
use crate::auth::{Operator, Role};
use crate::command;
use crate::extract::name;
use crate::fault::Fault;
use crate::view;

/// Give a node nothing new
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/cordon", tag = "nodes",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn cordon(
    State(app): State<App>,
    operator: Operator,
    Path(path): Path<(String, String)>,
) -> Result<super::order_targets::OrderAnswer, Fault> {
    order(&app, &operator, &path, |node| Action::Cordon { node }, "gets nothing new").await
}

/// Let a node take deployments again
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/uncordon", tag = "nodes",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn uncordon(
    State(app): State<App>,
    operator: Operator,
    Path(path): Path<(String, String)>,
) -> Result<super::order_targets::OrderAnswer, Fault> {
    order(&app, &operator, &path, |node| Action::Uncordon { node }, "takes deployments again").await
}

/// Give a node up for good
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/retire", tag = "nodes",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn retire(
    State(app): State<App>,
    operator: Operator,
    Path(path): Path<(String, String)>,
) -> Result<super::order_targets::OrderAnswer, Fault> {
    order(&app, &operator, &path, |node| Action::Retire { node }, "is given up for good").await
}

async fn order(
    app: &App,
    operator: &Operator,
    path: &(String, String),
    action: impl FnOnce(NodeName) -> Action,
    what: &str,
) -> Result<super::order_targets::OrderAnswer, Fault> {
    let (site, node) = named(operator, Role::Operator, path)?;
    view::node_exists(app, &site, &node).await?;
    let orders = [(site.clone(), action(node.clone()))];
    let event = command::give(app, operator, &orders, None).await?;
    super::order_targets::answer(app, format!("node {site}/{node} {what}"), &orders, event).await
}

fn named(
    operator: &Operator,
    role: Role,
    (site, node): &(String, String),
) -> Result<(SiteName, NodeName), Fault> {
    let site: SiteName = name("site", site)?;
    operator.must_be_at(role, &site)?;
    Ok((site, name("node", node)?))
}
