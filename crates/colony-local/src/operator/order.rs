//! Orders of the site engineer: executed here, reported to central by events.

use axum::extract::{FromRequest as _, Request};
use colony_api::server::{Issued, OrderApi, Orders};
use colony_core::id::SiteName;
use colony_core::site::Command;
use colony_wfm::Refusal;
use colony_wfm::server::JsonBody;
use serde::de::DeserializeOwned;

use super::{ApiState, Caller, event};
use crate::problem;

impl OrderApi for ApiState {
    /// Every user that may open the socket has full access.
    fn may_order(&self, _: &Caller, _: &SiteName) -> Result<(), Refusal> {
        Ok(())
    }

    async fn json<T: DeserializeOwned + Send>(&self, request: Request) -> Result<T, Refusal> {
        JsonBody::from_request(request, self).await.map(|it| it.0)
    }

    async fn issue(&self, caller: &Caller, orders: &Orders) -> Result<Issued, Refusal> {
        let before = *self.brain.notifiers().head().borrow();
        for (_, action) in &orders.given {
            let (by, action) = (caller.actor(), action.clone());
            let command = Command { number: None, by, expires: None, action };
            self.orders.execute(command).await.map_err(problem::of_brain)?;
        }
        let event = event::id(self.site_node.incarnation, before.saturating_sub(1));
        Ok(Issued { event, ..Issued::default() })
    }
}
