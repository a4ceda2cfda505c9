//! Deployments.

use reqwest::Method;

use super::{Client, Error};
use crate::request::{
    DeleteQuery, DeployRequest, Hold, LogsQuery, QuarantineRelease, Release, Retry, Rollback,
    SiteQuery, Steer, Steering,
};
use crate::view::{Accepted, DeployAnswer, DeploymentView, HistoryView, LogsView, WhyView};

impl Client {
    /// Creates or changes a deployment, by name.
    pub async fn deploy(&self, request: &DeployRequest) -> Result<DeployAnswer, Error> {
        self.post(&["deployments"], request).await
    }

    pub async fn deployment_list(&self, site: Option<&str>) -> Result<Vec<DeploymentView>, Error> {
        self.list(&["deployments"], site, |it: &DeploymentView| it.name.to_string()).await
    }

    pub async fn deployment_show(&self, name: &str) -> Result<DeploymentView, Error> {
        self.get(&["deployments", name], &()).await
    }

    pub async fn deployment_history(&self, name: &str) -> Result<HistoryView, Error> {
        self.get(&["deployments", name, "history"], &()).await
    }

    pub async fn deployment_delete(
        &self,
        name: &str,
        query: &DeleteQuery,
    ) -> Result<DeployAnswer, Error> {
        self.answer(self.request(Method::DELETE, &["deployments", name]).query(query)).await
    }

    pub async fn deployment_retry(&self, name: &str, retry: &Retry) -> Result<Accepted, Error> {
        self.post(&["deployments", name, "retry"], retry).await
    }

    pub async fn deployment_rollback(
        &self,
        name: &str,
        rollback: &Rollback,
    ) -> Result<DeployAnswer, Error> {
        self.post(&["deployments", name, "rollback"], rollback).await
    }

    pub async fn deployment_hold(&self, name: &str, hold: &Hold) -> Result<Accepted, Error> {
        self.post(&["deployments", name, "hold"], hold).await
    }

    pub async fn deployment_release(
        &self,
        name: &str,
        release: &Release,
    ) -> Result<Accepted, Error> {
        self.post(&["deployments", name, "release"], release).await
    }

    pub async fn deployment_steer(
        &self,
        name: &str,
        steering: Steering,
        steer: &Steer,
    ) -> Result<Accepted, Error> {
        self.post(&["deployments", name, steering.name()], steer).await
    }

    pub async fn quarantine_release(
        &self,
        name: &str,
        release: &QuarantineRelease,
    ) -> Result<Accepted, Error> {
        self.post(&["deployments", name, "quarantine", "release"], release).await
    }

    pub async fn deployment_why(&self, name: &str, site: Option<&str>) -> Result<WhyView, Error> {
        let query = SiteQuery { site: site.map(str::to_owned) };
        self.get(&["deployments", name, "why"], &query).await
    }

    pub async fn deployment_logs(&self, name: &str, query: &LogsQuery) -> Result<LogsView, Error> {
        self.get(&["deployments", name, "logs"], query).await
    }
}
