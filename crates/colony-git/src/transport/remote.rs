//! The address of a repository and the credentials for it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Error;

/// A remote repository: path, `file://`, `https://`, `ssh://` or scp-like.
#[derive(Clone)]
pub struct Remote {
    pub url: String,
    pub auth: Auth,
}

/// The credentials for a remote.
#[derive(Clone)]
pub enum Auth {
    None,
    /// Sent as the password of HTTP basic authentication; the user is the one
    /// in the URL.
    Token(Secret),
    /// A client certificate. The verifier in the configuration checks the
    /// server.
    Mtls {
        tls: Arc<rustls::ClientConfig>,
    },
    /// The credentials that the `ssh` program finds: agent, key files,
    /// configuration.
    Ssh,
}

/// A text that `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// A remote in the form that gix and the `git` program take.
pub(crate) struct Address {
    /// Without password; absolute if it is a path.
    pub(crate) url: String,
    pub(crate) kind: Kind,
    /// The value of `Authorization`.
    pub(crate) authorization: Option<String>,
    secrets: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Path(PathBuf),
    Http,
    Ssh,
}

const USER: &str = "x-access-token";

impl Remote {
    /// A repository without credentials, or with those in its URL.
    pub fn new(url: impl Into<String>) -> Remote {
        Remote { url: url.into(), auth: Auth::None }
    }

    /// Parses the URL and separates its secrets, so that none is printed or
    /// passed on a command line.
    pub(crate) fn address(&self) -> Result<Address, Error> {
        let url = self.url.as_str();
        if url.is_empty() || url.len() > 2048 || url.chars().any(char::is_control) {
            return Err(self.refuse("it is empty, too long or has control characters"));
        }
        if url.starts_with('-') {
            return Err(self.refuse("it starts with a dash"));
        }
        match url.split_once("://") {
            Some(("file", path)) => self.path(path),
            Some(("http" | "https", rest)) => self.http(rest),
            Some(("ssh", _)) => Ok(self.plain(Kind::Ssh)),
            Some(_) => Err(self.refuse("its scheme is none of file, http, https, ssh")),
            None if url.contains("::") => Err(self.refuse("it names a helper program")),
            None if is_scp_like(url) => Ok(self.plain(Kind::Ssh)),
            None => self.path(url),
        }
    }

    fn plain(&self, kind: Kind) -> Address {
        Address { url: self.url.clone(), kind, authorization: None, secrets: Vec::new() }
    }

    fn path(&self, path: &str) -> Result<Address, Error> {
        let path = std::path::absolute(path).map_err(|_| self.refuse("it is not a path"))?;
        let url = path.to_str().ok_or_else(|| self.refuse("it is not UTF-8"))?.to_owned();
        Ok(Address { url, kind: Kind::Path(path), authorization: None, secrets: Vec::new() })
    }

    fn http(&self, rest: &str) -> Result<Address, Error> {
        let scheme = self.url.split("://").next().unwrap_or("https");
        let host_end = rest.find('/').unwrap_or(rest.len());
        let (login, host) = match rest[..host_end].rsplit_once('@') {
            Some((login, _)) => (login, &rest[login.len() + 1..]),
            None => ("", rest),
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let password = match &self.auth {
            Auth::Token(token) => token.expose(),
            Auth::None | Auth::Mtls { .. } | Auth::Ssh => password,
        };
        let user = if user.is_empty() { USER } else { user };
        let basic = STANDARD.encode(format!("{user}:{password}"));
        let known = !password.is_empty();
        Ok(Address {
            url: format!("{scheme}://{host}"),
            kind: Kind::Http,
            authorization: known.then(|| format!("Basic {basic}")),
            secrets: if known { vec![password.to_owned(), basic] } else { Vec::new() },
        })
    }

    fn refuse(&self, problem: &'static str) -> Error {
        Error::Address { url: self.shown(), problem }
    }

    /// The URL to print: without user and password.
    pub fn shown(&self) -> String {
        let shown = match (self.url.split_once("://"), self.url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            (Some(_), None) | (None, Some(_) | None) => self.url.clone(),
        };
        let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        shown.chars().take(200).map(plain).collect()
    }
}

impl Address {
    /// Removes the secrets of this address from an external text.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, it| text.replace(it, "…"))
    }
}

/// `host:path`, as opposed to a path that happens to have a colon.
fn is_scp_like(url: &str) -> bool {
    url.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.shown()).field("auth", &self.auth).finish()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Auth::None => "None",
            Auth::Token(_) => "Token(…)",
            Auth::Mtls { .. } => "Mtls(…)",
            Auth::Ssh => "Ssh",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_the_address() {
        check("https://h/r.git", "", "https://h/r.git http");
        check("https://h/r.git", "t0k", "https://h/r.git http x-access-token:t0k");
        check("https://bob@h:8443/r.git", "t0k", "https://h:8443/r.git http bob:t0k");
        check("https://bob:p@h/a@b", "", "https://h/a@b http bob:p");
    }

    #[test]
    fn each_way_to_name_a_repository_is_known() {
        check("/srv/r.git", "", "/srv/r.git path");
        check("file:///srv/r.git", "", "/srv/r.git path");
        check("ssh://git@h/r.git", "", "ssh://git@h/r.git ssh");
        check("git@h:team/r.git", "", "git@h:team/r.git ssh");
        check("/srv/with:colon", "", "/srv/with:colon path");
    }

    #[test]
    fn what_runs_programs_is_refused() {
        check("ext::sh -c id", "", "refused: it names a helper program");
        check("--upload-pack=id", "", "refused: it starts with a dash");
        check("gopher://h/x", "", "refused: its scheme is none of file, http, https, ssh");
        check("", "", "refused: it is empty, too long or has control characters");
    }

    #[test]
    fn nothing_prints_a_secret() {
        let remote = remote("https://bob:hunter2@h/r.git", "t0k");
        let text = format!("{remote:?} {:?}", remote.refuse("it is a test"));
        assert!(!text.contains("hunter2") && !text.contains("t0k") && text.contains("https://h"));
        let long = format!("https://bob:{}@h/r.git", "hunter2".repeat(40));
        let text = format!("{:?}", self::remote(&long, "").refuse("it is a test"));
        assert!(!text.contains("hunter2") && text.contains("https://h/r.git"), "{text}");
        let text = self::remote("https://h/a\nERROR b", "").refuse("it is a test").to_string();
        assert!(!text.contains('\n'), "{text:?}");
        let address = remote.address().expect("an address");
        assert_eq!(address.redact("no t0k here"), "no … here");
    }

    #[track_caller]
    fn check(url: &str, token: &str, expected: &str) {
        let actual = match remote(url, token).address() {
            Ok(it) => {
                let kind = match it.kind {
                    Kind::Path(_) => "path",
                    Kind::Http => "http",
                    Kind::Ssh => "ssh",
                };
                let login = it.authorization.map(|it| {
                    let basic = STANDARD.decode(it.trim_start_matches("Basic ")).expect("base64");
                    format!(" {}", String::from_utf8_lossy(&basic))
                });
                format!("{} {kind}{}", it.url, login.unwrap_or_default())
            }
            Err(Error::Address { problem, .. }) => format!("refused: {problem}"),
            Err(other) => other.to_string(),
        };
        assert_eq!(actual, expected);
    }

    fn remote(url: &str, token: &str) -> Remote {
        let auth = if token.is_empty() { Auth::None } else { Auth::Token(Secret::new(token)) };
        Remote { url: url.to_owned(), auth }
    }
}
