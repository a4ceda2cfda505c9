//! Orders that both orchestrators accept: queued here for the sites' next poll.

use axum::extract::{FromRequest as _, Request};
use colony_api::server::{Issued, OrderApi, Orders};
use colony_core::fleet::SitePresence;
use colony_core::id::SiteName;
use serde::de::DeserializeOwned;

use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::{clock, command};

impl OrderApi for App {
    fn may_order(&self, caller: &Operator, site: &SiteName) -> Result<(), Fault> {
        caller.require_role(Role::Operator, site)
    }

    async fn json<T: DeserializeOwned + Send>(&self, request: Request) -> Result<T, Fault> {
        let JsonBody(body) = JsonBody::from_request(request, self).await.map_err(|it| it.0)?;
        Ok(body)
    }

    /// Waits a moment for the sites that are online to confirm their order.
    async fn issue(&self, caller: &Operator, orders: &Orders) -> Result<Issued, Fault> {
        let given = &orders.given;
        let issued = command::issue(self, caller, given, orders.deployment.as_ref()).await?;
        let (fleet, now) = (self.brain.read().await?, clock::wall());
        let is_offline = |site: &SiteName| {
            fleet.site(site).is_none_or(|it| it.presence(now) != SitePresence::Online)
        };
        let mut offline: Vec<SiteName> = given.iter().map(|it| it.0.clone()).collect();
        offline.retain(is_offline);
        let unconfirmed = issued.unconfirmed(self, &offline).await;
        Ok(Issued { event: issued.event, offline, unconfirmed })
    }
}
