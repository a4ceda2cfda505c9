//! The catalog: registries and the packages found in them.

use serde::{Deserialize, Serialize};

use colony_core::time::Wall;
use colony_margo::Digest;

use crate::{CentralStore, Error};

/// A place applications come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registry {
    pub name: String,
    pub url: String,
    pub at: Wall,
    pub last_sync: Option<Wall>,
    pub last_error: Option<String>,
    pub revision: Option<String>,
}

/// One version of an application, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub application: String,
    pub version: String,
    pub name: String,
    pub registry: String,
    pub path: String,
    pub digest: Digest,
    pub at: Wall,
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
    pub at: Wall,
}

impl CentralStore {
    pub async fn registry_put(&self, _registry: &Registry) -> Result<(), Error> {
        todo!()
    }

    /// All registries, by name.
    pub async fn registry_list(&self) -> Result<Vec<Registry>, Error> {
        todo!()
    }

    /// False if there was none. Its packages stay.
    pub async fn registry_delete(&self, _name: &str) -> Result<bool, Error> {
        todo!()
    }

    /// True if it is new or differs in more than its time.
    pub async fn package_put(&self, _package: &Package) -> Result<bool, Error> {
        todo!()
    }

    /// All packages, by application and version (as text).
    pub async fn package_list(&self) -> Result<Vec<PackageHead>, Error> {
        todo!()
    }

    pub async fn package(
        &self,
        _application: &str,
        _version: &str,
    ) -> Result<Option<Package>, Error> {
        todo!()
    }

    /// The versions of an application, as text sorts them.
    pub async fn package_versions(&self, _application: &str) -> Result<Vec<String>, Error> {
        todo!()
    }
}
