//! Sites and nodes.

use super::{Client, Error};
use crate::request::{Hold, Invite, Release, SiteAdd, SiteTrust};
use crate::view::{Accepted, InviteView, NodeView, SiteView, WhyView};

impl Client {
    pub async fn site_list(&self) -> Result<Vec<SiteView>, Error> {
        self.list(&["sites"], None, |it: &SiteView| it.name.to_string()).await
    }

    pub async fn site_show(&self, site: &str) -> Result<SiteView, Error> {
        self.get(&["sites", site], &()).await
    }

    pub async fn site_add(&self, add: &SiteAdd) -> Result<InviteView, Error> {
        self.post(&["sites"], add).await
    }

    /// A token for an orchestrator of a site that exists.
    pub async fn site_invite(&self, site: &str, invite: &Invite) -> Result<InviteView, Error> {
        self.post(&["sites", site, "invite"], invite).await
    }

    /// Accepts another authority for the nodes of a site.
    pub async fn site_trust(&self, site: &str, trust: &SiteTrust) -> Result<Accepted, Error> {
        self.post(&["sites", site, "trust"], trust).await
    }

    pub async fn site_hold(&self, site: &str, hold: &Hold) -> Result<Accepted, Error> {
        self.post(&["sites", site, "hold"], hold).await
    }

    pub async fn site_release(&self, site: &str, release: &Release) -> Result<Accepted, Error> {
        self.post(&["sites", site, "release"], release).await
    }

    /// The reasons why anything in the fleet waits.
    pub async fn fleet_why(&self) -> Result<WhyView, Error> {
        self.get(&["why"], &()).await
    }

    pub async fn node_why(&self, site: &str, node: &str) -> Result<WhyView, Error> {
        self.get(&["nodes", site, node, "why"], &()).await
    }

    pub async fn site_why(&self, site: &str) -> Result<WhyView, Error> {
        self.get(&["sites", site, "why"], &()).await
    }

    pub async fn node_list(&self, site: Option<&str>) -> Result<Vec<NodeView>, Error> {
        self.list(&["nodes"], site, |it: &NodeView| format!("{}/{}", it.site, it.name)).await
    }

    pub async fn node_show(&self, site: &str, node: &str) -> Result<NodeView, Error> {
        self.get(&["nodes", site, node], &()).await
    }

    pub async fn node_invite(&self, site: &str, invite: &Invite) -> Result<InviteView, Error> {
        self.post(&["sites", site, "nodes", "invite"], invite).await
    }

    pub async fn node_cordon(&self, site: &str, node: &str) -> Result<Accepted, Error> {
        self.post(&["nodes", site, node, "cordon"], &()).await
    }

    pub async fn node_uncordon(&self, site: &str, node: &str) -> Result<Accepted, Error> {
        self.post(&["nodes", site, node, "uncordon"], &()).await
    }

    pub async fn node_retire(&self, site: &str, node: &str) -> Result<Accepted, Error> {
        self.post(&["nodes", site, node, "retire"], &()).await
    }
}
