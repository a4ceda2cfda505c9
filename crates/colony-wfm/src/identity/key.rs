//! Private keys and the requests for certificates made with them.
//!
//! A key is ECDSA P-256, the one algorithm that every Margo implementation must
//! support. It never leaves its machine. A request contains no identity: the
//! authority that signs it decides about that.

use std::fmt;
use std::path::Path;

use rcgen::{CertificateParams, DistinguishedName, KeyPair, PKCS_ECDSA_P256_SHA256};

use crate::file;
use crate::identity::IdentityError;

const JOIN_FILE: &str = "join.key";

/// A private key, which is not printed.
pub struct PrivateKey {
    pair: KeyPair,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").finish_non_exhaustive()
    }
}

impl PrivateKey {
    /// Generates a key.
    pub fn generate() -> Result<PrivateKey, IdentityError> {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256);
        let pair = pair.map_err(|source| failed("make a private key", source))?;
        Ok(PrivateKey { pair })
    }

    /// Reads a key in PKCS #8.
    pub fn from_pem(pem: &str) -> Result<PrivateKey, IdentityError> {
        let pair = KeyPair::from_pem(pem).map_err(|_| IdentityError::Key)?;
        Ok(PrivateKey { pair })
    }

    /// The key to join with, stored in `dir` before it is used: a join whose
    /// answer was lost is repeated with the same key.
    pub fn to_join(dir: &Path) -> Result<PrivateKey, IdentityError> {
        let path = dir.join(JOIN_FILE);
        if let Some(text) = file::read(&path)? {
            return PrivateKey::from_pem(&text);
        }
        let key = PrivateKey::generate()?;
        file::write_secret(&path, &key.to_pem())?;
        Ok(key)
    }

    /// The key in PKCS #8.
    pub fn to_pem(&self) -> String {
        self.pair.serialize_pem()
    }

    /// A request for a certificate, signed with the key.
    pub fn csr(&self) -> Result<String, IdentityError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let request = params.serialize_request(&self.pair).and_then(|it| it.pem());
        request.map_err(|source| failed("make a certificate request", source))
    }

    pub(crate) fn pair(&self) -> &KeyPair {
        &self.pair
    }

    pub(crate) fn public(&self) -> &[u8] {
        self.pair.public_key_raw()
    }
}

fn failed(doing: &'static str, source: rcgen::Error) -> IdentityError {
    IdentityError::Crypto { doing, source }
}
