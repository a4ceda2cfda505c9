//! A registry's challenge and the answer to it: a password, or a token that
//! another server issues.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use serde::Deserialize;

use super::http::{Client, HttpError};
use crate::config::Credential;
use crate::url::escaped;

const TOKEN_LIMIT: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Challenge {
    pub(super) fn read(headers: &HeaderMap) -> Option<Challenge> {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|it| it.to_str().ok());
        texts.filter_map(Challenge::parse).max_by_key(|it| matches!(it, Challenge::Bearer { .. }))
    }

    pub(crate) fn parse(text: &str) -> Option<Challenge> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Challenge::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let get = |key: &str| parameter(rest, key);
        Some(Challenge::Bearer {
            realm: get("realm")?,
            service: get("service"),
            scope: get("scope"),
        })
    }

    /// What to send as `Authorization`; `None` if there is nothing to send.
    pub(super) async fn answer(
        &self,
        client: &Client,
        credential: Option<&Credential>,
    ) -> Result<Option<String>, HttpError> {
        match self {
            Challenge::Basic => Ok(credential.map(basic)),
            Challenge::Bearer { realm, service, scope } => {
                let query = [("service", service), ("scope", scope)];
                let query = query.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
                let query: Vec<String> =
                    query.map(|(key, value)| format!("{key}={}", escaped(value))).collect();
                let mark = if realm.contains('?') { '&' } else { '?' };
                let url = client.absolute(&format!("{realm}{mark}{}", query.join("&")))?;
                let answer = client.get(&url, "*/*", credential.map(basic), TOKEN_LIMIT).await?;
                Ok(bearer(&answer.bytes).filter(|_| answer.status.is_success()))
            }
        }
    }
}

fn basic(credential: &Credential) -> String {
    let pair = format!("{}:{}", credential.user, credential.password);
    format!("Basic {}", STANDARD.encode(pair))
}

pub(crate) fn bearer(bytes: &[u8]) -> Option<String> {
    let token: Token = serde_json::from_slice(bytes).ok()?;
    token.token.or(token.access_token).map(|it| format!("Bearer {it}"))
}

/// The value of `key` in `a="b",c="d"`. A value may hold commas.
fn parameter(text: &str, key: &str) -> Option<String> {
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(',').unwrap_or(after.len())),
        };
        if name.trim().trim_start_matches(',').trim().eq_ignore_ascii_case(key) {
            return Some(value.to_owned());
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        check("Basic realm=\"x\"", Some(Challenge::Basic));
        check(
            "Bearer realm=\"https://a/t\",service=\"r\",scope=\"repository:x:pull,push\"",
            Some(Challenge::Bearer {
                realm: "https://a/t".to_owned(),
                service: Some("r".to_owned()),
                scope: Some("repository:x:pull,push".to_owned()),
            }),
        );
        check(
            "bearer service=r, realm=\"https://a/t\"",
            Some(Challenge::Bearer {
                realm: "https://a/t".to_owned(),
                service: Some("r".to_owned()),
                scope: None,
            }),
        );
        check("Bearer service=\"r\"", None);
        check("Negotiate", None);
    }

    #[test]
    fn tokens_are_read_under_both_names() {
        assert_eq!(bearer(b"{\"token\":\"a\"}").as_deref(), Some("Bearer a"));
        assert_eq!(bearer(b"{\"access_token\":\"b\"}").as_deref(), Some("Bearer b"));
        assert_eq!(bearer(b"{}"), None);
    }

    #[track_caller]
    fn check(text: &str, expected: Option<Challenge>) {
        assert_eq!(Challenge::parse(text), expected, "{text}");
    }
}
