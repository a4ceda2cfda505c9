//! Authentication: an operator by token, a site's orchestrator by certificate.
//!
//! Tokens are random and only their hash is stored. An orchestrator acts for
//! one site: the site of its certificate must be the one in the path. The key
//! it joined with distinguishes it from the other orchestrators of its site.

mod key;
mod local;
mod redaction;
#[cfg(test)]
mod request_tests;
mod token;

use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;

pub(crate) use key::Keys;
pub(crate) use local::Local;
pub(crate) use redaction::Redaction;
pub(crate) use token::{ADMIN, make, presented};

use crate::app::App;
use crate::clock;
use crate::fault::Fault;

/// The role of an operator; each includes the permissions of the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Viewer,
    Operator,
    Admin,
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        match text {
            "viewer" => Ok(Role::Viewer),
            "operator" => Ok(Role::Operator),
            "admin" => Ok(Role::Admin),
            other => Err(format!("`{other}` is not a role; expected viewer, operator or admin")),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        })
    }
}

/// A person or a program with a token.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    /// The actor of everything the token does.
    pub name: String,
    pub role: Role,
    /// Empty: every site.
    sites: Vec<String>,
    /// The hash of the token.
    hash: String,
    expires: Option<Timestamp>,
}

impl Operator {
    /// The operator with the token of this hash.
    async fn known(app: &App, hash: String) -> Result<Operator, Fault> {
        let known = app.brain.store().token_by_hash(&hash).await?;
        let known = known.ok_or_else(|| Fault::unknown_caller("this token is not known here"))?;
        let (name, expires) = (known.name, known.expires);
        if expires.is_some_and(|it| it <= clock::wall()) {
            let said = format!("token `{name}` has expired; an admin makes another one");
            return Err(Fault::unknown_caller(said));
        }
        let role = known.role.parse().map_err(Fault::forbidden)?;
        Ok(Operator { name, role, sites: known.sites, hash, expires })
    }

    /// Checks the token again, for streams that outlive the check of their
    /// request.
    pub(crate) async fn is_still_known(&self, app: &App) -> bool {
        Operator::known(app, self.hash.clone()).await.is_ok()
    }

    /// Resolves when the token expires.
    pub(crate) async fn expired(&self) {
        match self.expires {
            Some(at) => tokio::time::sleep(at.since(clock::wall())).await,
            None => std::future::pending().await,
        }
    }

    /// Requires this role, whatever sites the token is for; the caller checks
    /// the site of the action separately.
    pub(crate) fn must_be(&self, role: Role) -> Result<(), Fault> {
        if self.role >= role {
            return Ok(());
        }
        let (name, own) = (&self.name, self.role);
        Err(Fault::forbidden(format!("token `{name}` has the role {own}; this needs {role}")))
    }

    /// Requires this role at this site.
    pub(crate) fn require_role(&self, role: Role, site: &SiteName) -> Result<(), Fault> {
        self.must_be(role)?;
        if self.sees(site) {
            return Ok(());
        }
        Err(Fault::forbidden(format!("token `{}` is not for site {site}", self.name)))
    }

    /// Requires this role at every site: a push, a token or a registry concerns
    /// more than one site.
    pub(crate) fn must_be_everywhere(&self, role: Role) -> Result<(), Fault> {
        self.must_be(role)?;
        if self.sees_all() {
            return Ok(());
        }
        let sites = self.sites.join(", ");
        let said = format!("token `{}` is for {sites} only; this is of the whole fleet", self.name);
        Err(Fault::forbidden(said))
    }

    /// Whether the token is for every site, including future ones.
    pub(crate) fn sees_all(&self) -> bool {
        self.sites.is_empty()
    }

    /// The site of a token that is for one site.
    pub(crate) fn only_site(&self) -> Option<&str> {
        match self.sites.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether the token is for this site.
    pub(crate) fn sees(&self, site: &SiteName) -> bool {
        self.sees_all() || self.sites.iter().any(|it| it == site.as_str())
    }
}

#[cfg(test)]
impl Operator {
    pub(crate) fn admin() -> Operator {
        let (name, role) = ("ana".to_owned(), Role::Admin);
        Operator { name, role, sites: Vec::new(), hash: String::new(), expires: None }
    }
}

impl FromRequestParts<App> for Operator {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Operator, Fault> {
        let token = presented(&parts.headers)
            .ok_or_else(|| Fault::unknown_caller("send a token: `Authorization: Bearer …`"))?;
        Operator::known(app, token::hash(&token)).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_token_expires_at_its_time_or_never() {
        let forever = Operator::admin();
        assert_eq!(forever.expired().now_or_never(), None);
        let hour = Some(clock::wall().after(Duration::from_secs(3_600)));
        assert_eq!(Operator { expires: hour, ..forever.clone() }.expired().now_or_never(), None);
        let over = Some(clock::wall().before(Duration::from_secs(1)));
        Operator { expires: over, ..forever }.expired().await;
    }

    #[test]
    fn only_a_token_for_one_site_names_its_site() {
        for (sites, expected) in
            [(vec![], None), (vec!["home"], Some("home")), (vec!["home", "mars"], None)]
        {
            let sites = sites.into_iter().map(str::to_owned).collect();
            assert_eq!(Operator { sites, ..Operator::admin() }.only_site(), expected);
        }
    }
}
