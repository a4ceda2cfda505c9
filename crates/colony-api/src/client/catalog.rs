//! The fleet as a whole, its catalog and its repository.

use reqwest::Method;

use super::{Client, Error};
use crate::request::{Lint, RegistryAdd};
use crate::view::{
    ApplicationDetail, ApplicationView, LintView, RegistryView, RepoView, StatusView,
};

impl Client {
    pub async fn status(&self) -> Result<StatusView, Error> {
        self.get(&["status"], &()).await
    }

    pub async fn application_list(&self) -> Result<Vec<ApplicationView>, Error> {
        self.get(&["applications"], &()).await
    }

    pub async fn application_show(&self, id: &str) -> Result<ApplicationView, Error> {
        self.get(&["applications", id], &()).await
    }

    pub async fn application_version(
        &self,
        id: &str,
        version: &str,
    ) -> Result<ApplicationDetail, Error> {
        self.get(&["applications", id, version], &()).await
    }

    pub async fn application_lint(&self, lint: &Lint) -> Result<LintView, Error> {
        self.post(&["applications", "lint"], lint).await
    }

    pub async fn registry_add(&self, add: &RegistryAdd) -> Result<RegistryView, Error> {
        self.post(&["registries"], add).await
    }

    pub async fn registry_list(&self) -> Result<Vec<RegistryView>, Error> {
        self.get(&["registries"], &()).await
    }

    pub async fn registry_show(&self, name: &str) -> Result<RegistryView, Error> {
        self.get(&["registries", name], &()).await
    }

    /// Reads the registry again at once.
    pub async fn registry_sync(&self, name: &str) -> Result<RegistryView, Error> {
        self.post(&["registries", name, "sync"], &()).await
    }

    pub async fn registry_delete(&self, name: &str) -> Result<(), Error> {
        self.answer(self.request(Method::DELETE, &["registries", name])).await
    }

    pub async fn repo(&self) -> Result<RepoView, Error> {
        self.get(&["repo"], &()).await
    }
}
