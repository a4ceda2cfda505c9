//! Tokens of operators: 256 random bits, stored as their SHA-256.

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

/// The name of the token that is made at the first start.
pub(crate) const ADMIN: &str = "admin";

/// A fresh token and the hash that is stored of it.
pub(crate) fn make() -> anyhow::Result<(String, String)> {
    let mut random = [0; 32];
    let filled = SystemRandom::new().fill(&mut random);
    filled.map_err(|_| anyhow::anyhow!("the system has no randomness"))?;
    let token = format!("colop_{}", URL_SAFE_NO_PAD.encode(random));
    let kept = hash(&token);
    Ok((token, kept))
}

pub(super) fn hash(token: &str) -> String {
    let digest = digest::digest(&digest::SHA256, token.as_bytes());
    digest.as_ref().iter().map(|it| format!("{it:02x}")).collect()
}

/// The token of a request: as bearer, or as the password Git sends.
pub(crate) fn presented(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
    pair.split_once(':').map(|it| it.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_a_bearer_and_from_git() {
        check("Bearer abc", Some("abc"));
        check("bearer abc", Some("abc"));
        check("Basic eDphYmM=", Some("abc"));
        check("Basic !!", None);
        check("Digest abc", None);
        check("abc", None);
    }

    #[test]
    fn a_token_is_not_what_is_kept_of_it() {
        let (token, kept) = make().expect("randomness");
        assert_eq!((kept.len(), hash(&token)), (64, kept));
    }

    #[track_caller]
    fn check(header: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, header.parse().expect("a header"));
        assert_eq!(presented(&headers).as_deref(), expected);
    }
}
