//! Join tokens: a signed permission to become a member, once.
//!
//! A token is `col1_` and the base64url of its claims followed by an Ed25519
//! signature. Whoever joins reads the claims to know where to go and whom to
//! expect there; the server verifies them, offline. That a token is used once
//! is the server's to remember.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::file;
use crate::identity::IdentityError;

const PREFIX: &str = "col1_";
const SIGNATURE: usize = 64;
const MAX_BYTES: usize = 4096;
const FILE: &str = "token.key";

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    Site,
    Node,
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub kind: TokenKind,
    /// Unique, so that a second use is recognised.
    pub id: String,
    pub site: String,
    /// Where to join; the first that answers is taken.
    pub urls: Vec<String>,
    /// The fingerprint of the authority of the server there.
    pub pin: String,
    /// Unix seconds.
    pub expires: i64,
    /// Whether it may take the place of a living one.
    #[serde(default)]
    pub replace: bool,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("token is malformed; copy it whole, it begins with `{PREFIX}`")]
    Malformed,
    #[error("token is not signed by this fleet")]
    Signature,
    #[error("token expired {ago} seconds ago; ask for a new one")]
    Expired { ago: u64 },
}

/// Signs tokens. The private key is in it and is not printed.
pub struct TokenSigner {
    pair: Ed25519KeyPair,
    pkcs8: Vec<u8>,
}

impl fmt::Debug for TokenSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSigner").field("public", &self.public()).finish_non_exhaustive()
    }
}

impl TokenSigner {
    /// Makes a signer with a key of its own.
    pub fn generate() -> Result<TokenSigner, IdentityError> {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        TokenSigner::from_pkcs8(pkcs8.map_err(|_| IdentityError::Key)?.as_ref())
    }

    /// Reads the signer kept in `dir`, if there is one.
    pub fn load(dir: &Path) -> Result<Option<TokenSigner>, IdentityError> {
        let Some(text) = file::read(&dir.join(FILE))? else { return Ok(None) };
        let pkcs8 = URL_SAFE_NO_PAD.decode(text.trim()).map_err(|_| IdentityError::Key)?;
        TokenSigner::from_pkcs8(&pkcs8).map(Some)
    }

    /// Keeps the signer in `dir`, for its owner only.
    pub fn save(&self, dir: &Path) -> Result<(), IdentityError> {
        file::write_secret(&dir.join(FILE), &URL_SAFE_NO_PAD.encode(&self.pkcs8))
    }

    fn from_pkcs8(pkcs8: &[u8]) -> Result<TokenSigner, IdentityError> {
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8).map_err(|_| IdentityError::Key)?;
        Ok(TokenSigner { pair, pkcs8: pkcs8.to_vec() })
    }

    /// The public key, as text.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    /// Makes a token of the claims.
    pub fn sign(&self, claims: &Claims) -> String {
        let mut bytes = serde_json::to_vec(claims).unwrap_or_default();
        let signature = self.pair.sign(&signed(&bytes));
        bytes.extend_from_slice(signature.as_ref());
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Reads the claims without checking who made them: for the one who joins.
pub fn read(token: &str) -> Result<Claims, TokenError> {
    let bytes = decode(token)?;
    let (payload, _) = split(&bytes)?;
    claims(payload)
}

/// Reads the claims of a token that `public` signed and that has not expired.
pub fn verify(token: &str, public: &str, now_unix: i64) -> Result<Claims, TokenError> {
    let bytes = decode(token)?;
    let (payload, signature) = split(&bytes)?;
    let public = URL_SAFE_NO_PAD.decode(public).map_err(|_| TokenError::Signature)?;
    let key = UnparsedPublicKey::new(&ED25519, public);
    key.verify(&signed(payload), signature).map_err(|_| TokenError::Signature)?;
    let claims = claims(payload)?;
    claims.check_expiry(now_unix)?;
    Ok(claims)
}

impl Claims {
    /// Refuses claims whose time is over.
    pub fn check_expiry(&self, now_unix: i64) -> Result<(), TokenError> {
        match u64::try_from(now_unix.saturating_sub(self.expires)) {
            Ok(ago) => Err(TokenError::Expired { ago }),
            Err(_) => Ok(()),
        }
    }
}

/// A signature for a token can never be one for anything else.
fn signed(payload: &[u8]) -> Vec<u8> {
    [PREFIX.as_bytes(), payload].concat()
}

fn decode(token: &str) -> Result<Vec<u8>, TokenError> {
    let text = token.trim();
    if text.len() > MAX_BYTES {
        return Err(TokenError::Malformed);
    }
    let text = text.strip_prefix(PREFIX).ok_or(TokenError::Malformed)?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Malformed)
}

fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), TokenError> {
    let at = bytes.len().checked_sub(SIGNATURE).ok_or(TokenError::Malformed)?;
    Ok(bytes.split_at(at))
}

fn claims(payload: &[u8]) -> Result<Claims, TokenError> {
    serde_json::from_slice(payload).map_err(|_| TokenError::Malformed)
}
