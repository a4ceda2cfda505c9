//! The credentials of a member: its SVID, the private key and the roots it
//! trusts.
//!
//! Kept as `svid.pem`, `svid.key` and `roots.pem`. The three change together
//! when a certificate is renewed with another key, so the next key is kept
//! beside the old one until the certificate is in place: after a crash at any
//! point, the loaded key matches the loaded certificate.

use std::fmt;
use std::path::Path;

use colony_margo::Digest;

use crate::file;
use crate::identity::key::PrivateKey;
use crate::identity::{IdentityError, SpiffeId, svid};

const CHAIN_FILE: &str = "svid.pem";
const KEY_FILE: &str = "svid.key";
const NEXT_KEY_FILE: &str = "svid.key.next";
const ROOTS_FILE: &str = "roots.pem";

/// An SVID with its key and roots. The key is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The SVID, then its issuers.
    pub chain_pem: String,
    pub key_pem: String,
    pub roots_pem: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Credentials");
        shown.field("id", &self.id().ok()).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the credentials kept in `dir`, if there are any.
    pub fn load(dir: &Path) -> Result<Option<Credentials>, IdentityError> {
        let Some(chain_pem) = file::read(&dir.join(CHAIN_FILE))? else { return Ok(None) };
        let roots_pem = file::read(&dir.join(ROOTS_FILE))?;
        let roots_pem = roots_pem
            .ok_or_else(|| IdentityError::Certificate(format!("{ROOTS_FILE} is missing")))?;
        let key_pem = load_key(dir, &chain_pem)?;
        Ok(Some(Credentials { chain_pem, key_pem, roots_pem }))
    }

    /// Keeps the credentials in `dir`, the key for its owner only.
    pub fn save(&self, dir: &Path) -> Result<(), IdentityError> {
        if !fits(&self.key_pem, &self.chain_pem)? {
            return Err(IdentityError::KeyMismatch);
        }
        file::write_secret(&dir.join(NEXT_KEY_FILE), &self.key_pem)?;
        file::write(&dir.join(ROOTS_FILE), &self.roots_pem)?;
        file::write(&dir.join(CHAIN_FILE), &self.chain_pem)?;
        file::rename(&dir.join(NEXT_KEY_FILE), &dir.join(KEY_FILE))
    }

    /// The id of the SVID.
    pub fn id(&self) -> Result<SpiffeId, IdentityError> {
        svid::id(&svid::leaf(&self.chain_pem)?)
    }

    /// From when until when the SVID is valid, in unix seconds.
    pub fn validity(&self) -> Result<(i64, i64), IdentityError> {
        svid::validity(&svid::leaf(&self.chain_pem)?)
    }

    /// Whether the authority that a token's pin names is one of the roots.
    pub fn trusts(&self, pin: &str) -> bool {
        let roots = svid::certificates(&self.roots_pem).unwrap_or_default();
        roots.iter().any(|it| Digest::of(it).to_string() == pin)
    }

    /// The manager of a client with this SVID: the only server it connects to.
    pub fn manager(&self) -> Result<SpiffeId, IdentityError> {
        let id = self.id()?;
        let (wfm, _) = id.as_wfm_client().ok_or_else(|| {
            IdentityError::Certificate(format!("`{id}` names no client of a manager"))
        })?;
        Ok(SpiffeId::wfm(id.trust_domain(), wfm)?)
    }
}

fn load_key(dir: &Path, chain_pem: &str) -> Result<String, IdentityError> {
    if let Some(key) = file::read(&dir.join(KEY_FILE))?
        && fits(&key, chain_pem)?
    {
        return Ok(key);
    }
    match file::read(&dir.join(NEXT_KEY_FILE))? {
        Some(key) if fits(&key, chain_pem)? => {
            file::rename(&dir.join(NEXT_KEY_FILE), &dir.join(KEY_FILE))?;
            Ok(key)
        }
        Some(_) | None => Err(IdentityError::KeyMismatch),
    }
}

fn fits(key_pem: &str, chain_pem: &str) -> Result<bool, IdentityError> {
    let public = svid::public_key(&svid::leaf(chain_pem)?)?;
    Ok(PrivateKey::from_pem(key_pem)?.public() == public)
}
