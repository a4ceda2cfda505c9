//! Join tokens: a signed permission to become a member, once.
//!
//! A token is `col1_` and the base64url of its claims followed by an Ed25519
//! signature. A joining member reads the claims for the server's URLs and
//! authority; the server verifies them, offline. The server records that a
//! token was used.

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

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub kind: TokenKind,
    /// Unique, so that a second use is recognised.
    pub id: String,
    pub site: String,
    /// Where to join; the first server that answers is used.
    pub urls: Vec<String>,
    /// The fingerprint of the server's authority.
    pub pin: String,
    /// Unix seconds.
    pub expires: i64,
    /// Whether the token may replace a live member.
    #[serde(default)]
    pub replace: bool,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("invitation is malformed; copy all of it, it begins with `{PREFIX}`")]
    Malformed,
    #[error("invitation is not signed by this fleet")]
    Signature,
    #[error(
        "invitation expired {ago} seconds ago; create another one with `colony node invite` or `colony site invite`"
    )]
    Expired { ago: u64 },
}

/// Signs tokens. Its private key is not printed.
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
    /// Creates a signer with a random key.
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

/// Reads the claims without checking the signature: for the joining member.
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
    /// Refuses expired claims.
    pub fn check_expiry(&self, now_unix: i64) -> Result<(), TokenError> {
        match u64::try_from(now_unix.saturating_sub(self.expires)) {
            Ok(ago) => Err(TokenError::Expired { ago }),
            Err(_) => Ok(()),
        }
    }
}

/// The prefix makes a signature of a token invalid for anything else.
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn token_says_what_was_signed() {
        let signer = TokenSigner::generate().unwrap();
        let token = signer.sign(&some_claims());
        assert!(token.starts_with("col1_"), "{token}");
        assert_eq!(read(&token), Ok(some_claims()));
        assert_eq!(verify(&format!(" {token}\n"), &signer.public(), NOW), Ok(some_claims()));
    }

    #[test]
    fn expired_tokens_are_refused_to_the_second() {
        let signer = TokenSigner::generate().unwrap();
        let token = signer.sign(&some_claims());
        let at = |now| verify(&token, &signer.public(), now);
        assert!(at(NOW + 3599).is_ok());
        assert_eq!(at(NOW + 3600), Err(TokenError::Expired { ago: 0 }));
        assert_eq!(at(NOW + 3660), Err(TokenError::Expired { ago: 60 }));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let signer = TokenSigner::generate().unwrap();
        let other = TokenSigner::generate().unwrap();
        let forged = other.sign(&some_claims());
        assert_eq!(verify(&forged, &signer.public(), NOW), Err(TokenError::Signature));
        assert_eq!(verify(&forged, "", NOW), Err(TokenError::Signature));

        let mut bytes = decode(&signer.sign(&some_claims())).unwrap();
        let at = bytes.windows(7).position(|it| it == b"plant-b").unwrap();
        bytes[at] = b'q';
        let changed = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        assert_eq!(read(&changed).map(|it| it.site), Ok("qlant-b".into()));
        assert_eq!(verify(&changed, &signer.public(), NOW), Err(TokenError::Signature));
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let signer = TokenSigner::generate().unwrap();
        let token = signer.sign(&some_claims());
        let short = URL_SAFE_NO_PAD.encode([0; 63]);
        let empty = URL_SAFE_NO_PAD.encode([0; 64]);
        let long = format!("col1_{}", "A".repeat(5000));
        for text in [
            "",
            "col1_",
            "hello",
            "col1_ä",
            &token[5..],
            &token[..token.len() - 1].replace('_', "/"),
            &format!("col1_{short}"),
            &long,
        ] {
            assert_eq!(verify(text, &signer.public(), NOW), Err(TokenError::Malformed), "{text}");
            assert_eq!(read(text), Err(TokenError::Malformed), "{text}");
        }
        assert_eq!(read(&format!("col1_{empty}")), Err(TokenError::Malformed));
        assert!(decode(&format!("col1_{}", "A".repeat(4091))).is_ok());
        assert_eq!(decode(&format!("col1_{}", "A".repeat(4092))), Err(TokenError::Malformed));
    }

    #[test]
    fn signer_is_kept_for_its_owner_only_and_not_printed() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        assert!(TokenSigner::load(dir.path()).unwrap().is_none());
        let signer = TokenSigner::generate().unwrap();
        signer.save(dir.path()).unwrap();
        let mode = std::fs::metadata(dir.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let loaded = TokenSigner::load(dir.path()).unwrap().unwrap();
        assert_eq!(loaded.public(), signer.public());
        let printed = format!("TokenSigner {{ public: {:?}, .. }}", signer.public());
        assert_eq!(format!("{signer:?}"), printed);
    }

    fn some_claims() -> Claims {
        Claims {
            kind: TokenKind::Node,
            id: "t1".into(),
            site: "plant-b".into(),
            urls: vec!["https://hub:7444".into()],
            pin: "sha256:00".into(),
            expires: NOW + 3600,
            replace: false,
        }
    }
}
