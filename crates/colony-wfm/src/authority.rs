//! todo
use crate::identity::{IdentityError, SpiffeId};
use std::path::Path;
use std::time::Duration;

/// A certificate authority.
#[derive(Clone, Debug)]
pub struct Authority {}

impl Authority {
    pub fn create(_trust_domain: &str, _now_unix: i64) -> Result<Authority, IdentityError> {
        todo!()
    }
    pub fn load(_dir: &Path) -> Result<Option<Authority>, IdentityError> {
        todo!()
    }
    pub fn save(&self, _dir: &Path) -> Result<(), IdentityError> {
        todo!()
    }
    pub fn root_pem(&self) -> &str {
        todo!()
    }
    pub fn trust_domain(&self) -> &str {
        todo!()
    }
    /// `sha256:<hex>` of the root's DER.
    pub fn fingerprint(&self) -> String {
        todo!()
    }
    pub fn sign(
        &self,
        _csr_pem: &str,
        _id: &SpiffeId,
        _hosts: &[String],
        _now_unix: i64,
        _lifetime: Duration,
    ) -> Result<String, IdentityError> {
        todo!()
    }
}
