//! The identity of the node: obtained once with an invitation, then read from
//! disk, renewed before it expires, and replaced when the node joins again.

mod rejoin;
pub(crate) mod renew;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use colony_core::id::NodeName;
use colony_core::margo::DeviceId;
use colony_process::Backoff;
use colony_wfm::{Credentials, PrivateKey, join as wfm_join, token};

use crate::{Config, clock};

/// The name the site gave, the certificate for it and where the site is.
#[derive(Debug, Clone)]
pub struct Identity {
    pub name: String,
    pub site: String,
    pub urls: Vec<String>,
    pub credentials: Credentials,
}

/// Stored beside the credentials.
#[derive(Debug, Serialize, Deserialize)]
struct Membership {
    name: String,
    site: String,
    urls: Vec<String>,
}

impl Identity {
    pub(crate) fn device(&self) -> anyhow::Result<DeviceId> {
        self.name.parse().with_context(|| format!("`{}` is not a device's name", self.name))
    }

    /// A globally unique name of the node: names are unique only within a site,
    /// and a machine may be a node of several sites.
    pub(crate) fn world(&self) -> anyhow::Result<String> {
        let id = self.credentials.id().context("the node's certificate has no identity")?;
        Ok(id.to_string())
    }
}

/// Reads the identity, or joins with the invitation. An invitation also
/// replaces an identity that does not work; one that works is kept.
pub(crate) async fn obtain(config: &Config) -> anyhow::Result<Identity> {
    rejoin::finish(&config.data)?;
    let dir = config.data.join("identity");
    match (load(&dir)?, &config.join) {
        (Some(identity), None) => Ok(identity),
        (Some(identity), Some(token)) => match rejoin::reason(&identity, token).await {
            Some(reason) => rejoin::replace(config, token, &identity, &reason).await,
            None => {
                let Identity { name, site, .. } = &identity;
                info!("this machine is node {name} of site {site}; the invitation is not used");
                Ok(identity)
            }
        },
        (None, Some(token)) => join(&dir, token, config).await,
        (None, None) => bail!(
            "this node has not joined a site yet\n\
             an operator prints the invitation with: colony node invite --site <site>\n\
             then run here: colony node --join <invitation>"
        ),
    }
}

/// Joins and stores the identity in `dir`.
pub(crate) async fn join(dir: &Path, token: &str, config: &Config) -> anyhow::Result<Identity> {
    let identity = join_site(dir, token, config).await?;
    colony_process::fail::hit(colony_process::fail::Point::NodeJoinAnswered);
    save(dir, &identity)?;
    colony_process::fail::hit(colony_process::fail::Point::NodeJoinStored);
    info!(node = identity.name, site = identity.site, "joined");
    Ok(identity)
}

pub(crate) fn load(dir: &Path) -> anyhow::Result<Option<Identity>> {
    let Some(credentials) = Credentials::load(dir).context("could not read the identity")? else {
        return Ok(None);
    };
    let path = dir.join("site.json");
    let text = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
    let membership: Membership = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not what was written there", path.display()))?;
    let Membership { name, site, urls } = membership;
    Ok(Some(Identity { name, site, urls, credentials }))
}

/// Writes the credentials last: they make the identity complete.
pub(crate) fn save(dir: &Path, identity: &Identity) -> anyhow::Result<()> {
    let Identity { name, site, urls, .. } = identity.clone();
    let text = serde_json::to_vec_pretty(&Membership { name, site, urls })?;
    let write = || {
        fs::create_dir_all(dir)?;
        colony_process::file::replace(&dir.join("site.json"), &text, 0o600)
    };
    write().with_context(|| format!("could not write to {}", dir.display()))?;
    colony_process::fail::hit(colony_process::fail::Point::NodeJoinHalfStored);
    identity.credentials.save(dir).context("could not store the identity")
}

/// Retries until the site answers or the invitation expires, always with the
/// same key, so that a lost answer is repeated.
async fn join_site(dir: &Path, token: &str, config: &Config) -> anyhow::Result<Identity> {
    let key = PrivateKey::to_join(dir).context("could not make or read the key to join with")?;
    colony_process::fail::hit(colony_process::fail::Point::NodeJoinKeyStored);
    let csr = key.csr().context("could not make a certificate request")?;
    let name = match &config.name {
        Some(name) => {
            name.parse::<NodeName>()?;
            Some(name.clone())
        }
        None => host_name(),
    };
    let mut backoff = Backoff::default();
    let (joined, url) = loop {
        match wfm_join::join(token, &csr, name.as_deref(), clock::unix()).await {
            Err(error) if error.is_passing() => warn!("could not join yet: {error}"),
            answer => break answer.context("could not join the site")?,
        }
        tokio::time::sleep(backoff.next_delay()).await;
    };
    let mut urls = vec![url];
    urls.extend(token::read(token).map(|it| it.urls).unwrap_or_default());
    let mut seen = std::collections::BTreeSet::new();
    urls.retain(|it| seen.insert(it.clone()));
    let (chain_pem, roots_pem) = (joined.chain, joined.roots);
    let credentials = Credentials { chain_pem, key_pem: key.to_pem(), roots_pem };
    Ok(Identity { name: joined.name, site: joined.site, urls, credentials })
}

/// The host's name if it is valid for a node; otherwise the site chooses one.
fn host_name() -> Option<String> {
    node_name(&fs::read_to_string("/proc/sys/kernel/hostname").ok()?)
}

fn node_name(text: &str) -> Option<String> {
    let first = text.trim().split('.').next()?.to_lowercase();
    let letters = first.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' });
    let name: String = letters.take(63).collect();
    let name = name.trim_matches('-').to_owned();
    name.parse::<NodeName>().ok().map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::sample;
    use crate::kit::stand_in::StandIn;

    #[test]
    fn a_host_name_becomes_the_name_of_a_node() {
        check("press-1\n", Some("press-1"));
        check("Press_1.plant.example", Some("press-1"));
        check("-press-", Some("press"));
        check(&"a".repeat(70), Some(&"a".repeat(63)));
        check("", None);
        check("...", None);
        let own = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        assert_eq!(host_name(), node_name(&own));
    }

    #[test]
    fn an_identity_is_named_by_its_certificate_and_kept_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(load(dir.path()).expect("it is read").is_none());
        let identity = sample::identity(&sample::authority());

        save(dir.path(), &identity).expect("it is kept");

        let loaded = load(dir.path()).expect("it is read").expect("it is there");
        assert_eq!(
            loaded.world().expect("a name"),
            "spiffe://fleet.example/margo/wfm/home/client/n1"
        );
        assert_eq!((&loaded.name, &loaded.site), (&identity.name, &identity.site));
        assert_eq!((&loaded.urls, &loaded.credentials), (&identity.urls, &identity.credentials));
        assert_eq!(loaded.device().expect("a device").to_string(), "n1");
    }

    #[tokio::test]
    async fn a_node_without_identity_or_invitation_does_not_start() {
        let dir = tempfile::tempdir().expect("a directory");
        let refused = obtain(&sample::config(dir.path())).await.expect_err("it has no identity");
        assert!(
            refused.to_string().starts_with("this node has not joined a site yet"),
            "{refused}"
        );

        let identity = sample::identity(&sample::authority());
        save(&dir.path().join("identity"), &identity).expect("it is kept");
        let found = obtain(&sample::config(dir.path())).await.expect("it has joined");
        assert_eq!(found.name, "n1");
    }

    #[tokio::test]
    async fn joining_is_tried_again_unless_it_is_refused() {
        check_join(&[503, 200], true).await;
        check_join(&[403, 200], false).await;
    }

    async fn check_join(statuses: &'static [u16], joins: bool) {
        let site = StandIn::start(statuses).await;
        let dir = tempfile::tempdir().expect("a directory");
        let token = sample::invitation(sample::SITE, &site.url, &site.authority);
        let joined = join(dir.path(), &token, &sample::config(dir.path())).await;
        assert_eq!(joined.is_ok(), joins, "{statuses:?}: {joined:?}");
        assert_eq!(site.seen().len(), if joins { 2 } else { 1 }, "{statuses:?}");
    }

    #[track_caller]
    fn check(host: &str, expected: Option<&str>) {
        assert_eq!(node_name(host).as_deref(), expected, "{host}");
    }
}
