//! todo
use crate::identity::{IdentityError, SpiffeId};
use std::path::Path;

/// An SVID, its key and the roots it trusts.
#[derive(Clone)]
pub struct Credentials {
    pub chain_pem: String,
    pub key_pem: String,
    pub roots_pem: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    pub fn load(_dir: &Path) -> Result<Option<Credentials>, IdentityError> {
        todo!()
    }
    pub fn save(&self, _dir: &Path) -> Result<(), IdentityError> {
        todo!()
    }
    pub fn id(&self) -> Result<SpiffeId, IdentityError> {
        todo!()
    }
    /// Not before and not after, in seconds.
    pub fn validity(&self) -> Result<(i64, i64), IdentityError> {
        todo!()
    }
    /// The manager that a client with this SVID belongs to.
    pub fn manager(&self) -> Result<SpiffeId, IdentityError> {
        todo!()
    }
}
