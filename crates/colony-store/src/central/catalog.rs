//! The catalog: registries and the packages found in them.

use serde::{Deserialize, Serialize};

use colony_core::margo::Digest;
use colony_core::time::Timestamp;

use crate::central::write::Exact;
use crate::database::document;
use crate::database::line::{Line, corrupt};
use crate::database::query::Query;
use crate::{CentralStore, Error};

/// A registry that applications come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registry {
    pub name: String,
    pub url: String,
    pub at: Timestamp,
    pub last_sync: Option<Timestamp>,
    pub last_error: Option<String>,
    pub revision: Option<String>,
}

/// One version of an application, as found in its registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub application: String,
    pub version: String,
    pub name: String,
    pub registry: String,
    pub path: String,
    pub digest: Digest,
    pub at: Timestamp,
    pub text: String,
}

/// A package without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageHead {
    pub application: String,
    pub version: String,
    pub name: String,
    pub registry: String,
    pub digest: Digest,
    pub at: Timestamp,
}

impl CentralStore {
    pub async fn registry_put(&self, registry: &Registry) -> Result<(), Error> {
        let text = "INSERT INTO registry (name, body) VALUES ($1, $2) \
                    ON CONFLICT (name) DO UPDATE SET body = excluded.body";
        let body = document::write(&registry_named(&registry.name), registry)?;
        let query = Query::new("store a registry", text).bind(registry.name.as_str()).bind(body);
        self.execute(query).await.map(drop)
    }

    /// All registries, by name.
    pub async fn registry_list(&self) -> Result<Vec<Registry>, Error> {
        let query = Query::new("read the registries", "SELECT name, body FROM registry");
        let read = |line: &Line| line.body(&registry_named(&line.text("name")?));
        let mut found: Vec<Registry> = self.db.fetch(query, read).await?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Stores the result of a sync. False, and nothing is stored, if the
    /// registry was removed or replaced meanwhile.
    pub async fn registry_synced(&self, registry: &Registry) -> Result<bool, Error> {
        let name = registry_named(&registry.name);
        let body = document::write(&name, registry)?;
        // No registry can be added or removed until this transaction ends.
        let (mut tx, _) = self.begin(0, 0).await?;
        let text = "SELECT body FROM registry WHERE name = $1";
        let query = Query::new("read a registry", text).bind(registry.name.as_str());
        let stored = tx.fetch_optional(query).await?;
        let stored = stored.map(|it| it.body::<Registry>(&name)).transpose()?;
        if stored.is_none_or(|it| (&it.url, it.at) != (&registry.url, registry.at)) {
            tx.rollback().await;
            return Ok(false);
        }
        let text = "UPDATE registry SET body = $2 WHERE name = $1";
        let query = Query::new("store a registry", text).bind(registry.name.as_str());
        tx.execute(query.bind(body)).await?;
        tx.commit().await.map(|()| true)
    }

    /// True if it is new or differs in more than its time.
    pub async fn package_put(&self, package: &Package) -> Result<bool, Error> {
        let body =
            document::write(&package_named(&package.application, &package.version), package)?;
        let query = Query::new("store a package", PACKAGE_PUT)
            .bind(package.application.as_str())
            .bind(package.version.as_str())
            .bind(package.name.as_str())
            .bind(package.registry.as_str())
            .bind(package.path.as_str())
            .bind(package.digest.to_string())
            .bind(package.at)
            .bind(body);
        Ok(self.execute(query).await? == 1)
    }

    /// Removes a package, if it still belongs to that registry.
    pub async fn package_remove(
        &self,
        registry: &str,
        application: &str,
        version: &str,
    ) -> Result<(), Error> {
        let text = "DELETE FROM package WHERE application = $1 AND version = $2 AND registry = $3";
        let query = Query::new("remove a package", text).bind(application).bind(version);
        self.execute(query.bind(registry)).await.map(drop)
    }

    /// All packages, by application and version (as text).
    pub async fn package_list(&self) -> Result<Vec<PackageHead>, Error> {
        let text = "SELECT application, version, name, registry, digest, at_ms FROM package";
        let mut found = self.db.fetch(Query::new("read the packages", text), head).await?;
        found.sort_by(|a, b| (&a.application, &a.version).cmp(&(&b.application, &b.version)));
        Ok(found)
    }

    pub async fn package(
        &self,
        application: &str,
        version: &str,
    ) -> Result<Option<Package>, Error> {
        let text = "SELECT body FROM package WHERE application = $1 AND version = $2";
        let query = Query::new("read a package", text).bind(application).bind(version);
        self.db.fetch_one(query, |line| line.body(&package_named(application, version))).await
    }

    /// The versions of an application, as text sorts them.
    pub async fn package_versions(&self, application: &str) -> Result<Vec<String>, Error> {
        let text = "SELECT version FROM package WHERE application = $1";
        let query = Query::new("read the versions of an application", text).bind(application);
        let mut found = self.db.fetch(query, |line| line.text("version")).await?;
        found.sort();
        Ok(found)
    }
}

/// Adds a registry, unless its name is taken.
pub(super) fn add(registry: &Registry) -> Result<Exact, Error> {
    let text = "INSERT INTO registry (name, body) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    let body = document::write(&registry_named(&registry.name), registry)?;
    let query = Query::new("add a registry", text).bind(registry.name.as_str()).bind(body);
    Ok(Exact { query, otherwise: Error::Exists { what: registry_named(&registry.name) } })
}

pub(super) fn remove(name: &str) -> Exact {
    let text = "DELETE FROM registry WHERE name = $1";
    let query = Query::new("delete a registry", text).bind(name);
    Exact { query, otherwise: Error::Missing { what: registry_named(name) } }
}

const PACKAGE_PUT: &str = "\
    INSERT INTO package (application, version, name, registry, path, digest, at_ms, body) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
    ON CONFLICT (application, version) DO UPDATE SET name = excluded.name, \
    registry = excluded.registry, path = excluded.path, digest = excluded.digest, \
    at_ms = excluded.at_ms, body = excluded.body \
    WHERE package.digest <> excluded.digest OR package.name <> excluded.name \
    OR package.registry <> excluded.registry OR package.path <> excluded.path";

fn head(line: &Line) -> Result<PackageHead, Error> {
    let (application, version) = (line.text("application")?, line.text("version")?);
    let digest = line.text("digest")?.parse();
    let digest = digest.map_err(|it| corrupt(&package_named(&application, &version), &it))?;
    let (name, registry) = (line.text("name")?, line.text("registry")?);
    let at = Timestamp(line.unsigned("at_ms")?.unwrap_or_default());
    Ok(PackageHead { application, version, name, registry, digest, at })
}

fn registry_named(name: &str) -> String {
    format!("registry `{name}`")
}

fn package_named(application: &str, version: &str) -> String {
    format!("package `{application}` {version}")
}
