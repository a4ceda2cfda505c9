//! Where a repository is and how to be let in.

use std::fmt;
use std::sync::Arc;

/// A repository of others: path, `file://`, `https://`, `ssh://` or scp-like.
#[derive(Debug, Clone)]
pub struct Remote {
    pub url: String,
    pub auth: Auth,
}

/// How to be let in.
#[derive(Clone)]
pub enum Auth {
    None,
    /// Sent as the password of HTTP basic authentication; the user is the one in the URL.
    Token(Secret),
    /// A client certificate. The verifier inside decides whether it is the right server.
    Mtls { tls: Arc<rustls::ClientConfig> },
    /// Whatever the `ssh` program finds: agent, key files, its configuration.
    Ssh,
}

/// A text that does not print.
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
