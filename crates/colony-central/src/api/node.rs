//! Nodes.

use axum::extract::{Path, State};
use colony_api::request::NodeOrder;
use colony_api::view::Accepted;
use colony_core::id::{NodeName, SiteName};

use crate::api::extract::parse_name;
use crate::api::order::order_targets::{OrderAnswer, Orders, issue};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::view;

/// Give a node nothing new
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/cordon", tag = "nodes",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn cordon(
    State(app): State<App>,
    operator: Operator,
    Path(path): Path<(String, String)>,
) -> Result<OrderAnswer, Fault> {
    order(&app, &operator, &path, NodeOrder::Cordon).await
}

/// Let a node take deployments again
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/uncordon", tag = "nodes",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn uncordon(
    State(app): State<App>,
    operator: Operator,
    Path(path): Path<(String, String)>,
) -> Result<OrderAnswer, Fault> {
    order(&app, &operator, &path, NodeOrder::Uncordon).await
}

/// Give a node up for good
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/retire", tag = "nodes",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn retire(
    State(app): State<App>,
    operator: Operator,
    Path(path): Path<(String, String)>,
) -> Result<OrderAnswer, Fault> {
    order(&app, &operator, &path, NodeOrder::Retire).await
}

async fn order(
    app: &App,
    operator: &Operator,
    path: &(String, String),
    order: NodeOrder,
) -> Result<OrderAnswer, Fault> {
    let site: SiteName = parse_name("site", &path.0)?;
    operator.require_role(Role::Operator, &site)?;
    let node: NodeName = parse_name("node", &path.1)?;
    view::node_exists(app, operator, &site, &node).await?;
    let orders = Orders::one(&site, order.action(node.clone()));
    issue(app, operator, None, orders, format!("node {site}/{node} {}", order.sentence())).await
}
