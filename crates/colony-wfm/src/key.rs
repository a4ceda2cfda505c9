//! todo
use crate::identity::IdentityError;

/// A private key (ECDSA P-256).
#[derive(Debug)]
pub struct PrivateKey {}

impl PrivateKey {
    pub fn generate() -> Result<PrivateKey, IdentityError> {
        todo!()
    }
    pub fn from_pem(_pem: &str) -> Result<PrivateKey, IdentityError> {
        todo!()
    }
    pub fn to_pem(&self) -> String {
        todo!()
    }
    pub fn csr(&self) -> Result<String, IdentityError> {
        todo!()
    }
}
