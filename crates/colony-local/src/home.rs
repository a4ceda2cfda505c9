//! The role's directory: its membership and its identity.
//!
//! ```text
//! site.json      the membership: site, incarnation, addresses, Git
//! fleet/         the client SVID in the fleet's domain, and the key to join with
//! ca/            the site's own authority
//! local.db       the site itself        git/  the clone       local.sock
//! ```
//! `site.json` is written last: it is there if and only if the site has joined.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use colony_api::site::GitAccess;
use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_wfm::{Authority, Credentials, PrivateKey, file};

use crate::clock::Clock;

/// The settings that a site received from central when it joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Membership {
    pub site: SiteName,
    pub incarnation: Incarnation,
    /// The id of the token it joined with.
    pub token: String,
    /// The addresses of central; the one that answered first comes first.
    pub central: Vec<String>,
    /// The fleet's trust domain.
    pub domain: String,
    /// Verifies the tokens of nodes.
    pub token_public: String,
    pub git: GitAccess,
}

/// The directory.
#[derive(Debug, Clone)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// `dir` must exist and be locked by this process.
    pub(crate) fn open(dir: &Path) -> Home {
        Home(dir.to_owned())
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("local.db")
    }

    pub(crate) fn clone_dir(&self) -> PathBuf {
        self.0.join("git")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("local.sock")
    }

    pub(crate) fn membership(&self) -> anyhow::Result<Option<Membership>> {
        let path = self.0.join("site.json");
        let Some(text) = file::read(&path)? else { return Ok(None) };
        let found = serde_json::from_str(&text);
        found.map(Some).with_context(|| format!("{} is damaged", path.display()))
    }

    pub(crate) fn joined(
        &self,
        membership: &Membership,
        credentials: &Credentials,
    ) -> anyhow::Result<()> {
        credentials.save(&self.fleet()).context("could not keep the identity of the site")?;
        colony_process::fail::hit(colony_process::fail::Point::LocalJoinHalfStored);
        let text = serde_json::to_string_pretty(membership)?;
        Ok(file::write_secret(&self.0.join("site.json"), &text)?)
    }

    pub(crate) fn credentials(&self) -> anyhow::Result<Credentials> {
        let found = Credentials::load(&self.fleet()).context("could not read the identity")?;
        found.with_context(|| format!("the identity in {} is missing", self.fleet().display()))
    }

    /// Stores the next certificate of the same identity.
    pub(crate) fn renewed(&self, credentials: &Credentials) -> anyhow::Result<()> {
        credentials.save(&self.fleet()).context("could not keep the renewed certificate")
    }

    /// The key to join with; the same until the site has joined.
    pub(crate) fn join_key(&self) -> anyhow::Result<PrivateKey> {
        PrivateKey::to_join(&self.fleet()).context("could not make or read the key to join with")
    }

    /// The site's own certificate authority, created at its first start.
    pub(crate) fn authority(&self, site: &SiteName) -> anyhow::Result<Authority> {
        let dir = self.0.join("ca");
        if let Some(found) = Authority::load(&dir).context("could not read the site's CA")? {
            return Ok(found);
        }
        let random = uuid::Uuid::new_v4().simple().to_string();
        let domain = format!("site-{site}.{}", &random[..8]);
        let made = Authority::create(&domain, Clock::unix()).context("could not make a CA")?;
        made.save(&dir).context("could not keep the site's CA")?;
        colony_process::fail::hit(colony_process::fail::Point::LocalAuthorityMade);
        Ok(made)
    }

    fn fleet(&self) -> PathBuf {
        self.0.join("fleet")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_membership_that_cannot_be_read_is_not_taken_for_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::open(dir.path());
        assert_eq!(home.membership().expect("it is read"), None);
        std::fs::write(dir.path().join("site.json"), "{").expect("it is written");
        let damaged = home.membership().expect_err("it is damaged").to_string();
        assert!(damaged.ends_with("site.json is damaged"), "{damaged}");
        let below_a_file = Home::open(&dir.path().join("site.json"));
        assert!(below_a_file.membership().is_err(), "it cannot be looked for");
    }
}
