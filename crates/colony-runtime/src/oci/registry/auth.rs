//! A registry's challenge and the answer to it: a password, or a token that
//! another server issues.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, Method};
use serde::Deserialize;

use super::http::{Answer, Call, Client, HttpError, Sink};
use crate::config::Credential;
use crate::url::escaped;

const TOKEN_LIMIT: usize = 64 << 10;
const FORM: &str = "application/x-www-form-urlencoded";

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
            Challenge::Basic => Ok(credential.and_then(basic)),
            Challenge::Bearer { realm, service, scope } => {
                let about = [("service", service.as_deref()), ("scope", scope.as_deref())];
                let answer = match credential {
                    Some(Credential::IdentityToken(token)) => {
                        exchange(client, realm, token, &about).await?
                    }
                    Some(Credential::Password { .. }) | None => {
                        let mark = if realm.contains('?') { '&' } else { '?' };
                        let url = client.absolute(&format!("{realm}{mark}{}", form(&about)))?;
                        let basic = credential.and_then(basic);
                        client.get(&url, "*/*", basic, Sink::Memory(TOKEN_LIMIT)).await?
                    }
                };
                Ok(bearer(&answer.bytes).filter(|_| answer.status.is_success()))
            }
        }
    }
}

/// Exchanges an identity token for access, by OAuth 2. A redirect is not
/// followed: the token is for this server alone.
async fn exchange(
    client: &Client,
    realm: &str,
    token: &str,
    about: &[(&str, Option<&str>)],
) -> Result<Answer, HttpError> {
    let grant = [
        ("grant_type", Some("refresh_token")),
        ("client_id", Some("colony")),
        ("refresh_token", Some(token)),
    ];
    let body = Bytes::from(form(&[&grant, about].concat()));
    let call = Call { method: Method::POST, content_type: Some(FORM), body };
    client.send(&client.absolute(realm)?, &call, None).await
}

fn form(fields: &[(&str, Option<&str>)]) -> String {
    let given = fields.iter().filter_map(|(key, value)| Some((key, (*value)?)));
    let given = given.map(|(key, value)| format!("{key}={}", escaped(value)));
    given.collect::<Vec<_>>().join("&")
}

/// An identity token is only for token servers.
fn basic(credential: &Credential) -> Option<String> {
    let Credential::Password { user, password } = credential else { return None };
    Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
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
    use std::collections::BTreeSet;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

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

    #[tokio::test]
    async fn identity_token_is_exchanged_for_access() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let realm = format!("http://{}/token", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move { token_request(&listener).await });
        let (service, scope) = (Some("r".to_owned()), Some("repository:x:pull".to_owned()));
        let bearer = Challenge::Bearer { realm, service, scope };
        let token = Credential::IdentityToken("t0/k3n".to_owned());
        let client = Client::new(BTreeSet::new());

        let answer = bearer.answer(&client, Some(&token)).await.expect("an answer");

        assert_eq!(answer.as_deref(), Some("Bearer a"));
        let request = server.await.expect("a request");
        assert!(request.starts_with("POST /token HTTP/1.1\r\n"), "{request}");
        let body = "grant_type=refresh_token&client_id=colony&refresh_token=t0%2Fk3n&service=r\
                    &scope=repository%3Ax%3Apull";
        assert!(request.ends_with(body), "{request}");
        let basic = Challenge::Basic.answer(&client, Some(&token)).await.expect("an answer");
        assert_eq!(basic, None, "it is only for token servers");
    }

    /// Answers one request with the token `a`, and returns the request.
    async fn token_request(listener: &TcpListener) -> String {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let (mut text, mut part) = (String::new(), [0; 1024]);
        while !text.contains("pull") {
            let count = stream.read(&mut part).await.expect("a part");
            text.push_str(&String::from_utf8_lossy(&part[..count]));
        }
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"access_token\":\"a\"}";
        stream.write_all(answer.as_bytes()).await.expect("it is read");
        text
    }

    #[track_caller]
    fn check(text: &str, expected: Option<Challenge>) {
        assert_eq!(Challenge::parse(text), expected, "{text}");
    }
}
