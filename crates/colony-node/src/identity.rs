//! Who the node is: obtained once with an invitation, then read from disk.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use colony_core::id::NodeName;
use colony_margo::DeviceId;
use colony_task::Backoff;
use colony_wfm::{Credentials, PrivateKey, join as wfm_join, token};

use crate::{Config, clock, rejoin};

/// The name the site gave, the certificate for it and where the site is.
#[derive(Debug, Clone)]
pub struct Identity {
    pub name: String,
    pub site: String,
    pub urls: Vec<String>,
    pub credentials: Credentials,
}

/// What is kept beside the credentials.
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

    /// What no other node in the world is called: names are unique in a site
    /// alone, and a machine may be a node of several.
    pub(crate) fn world(&self) -> anyhow::Result<String> {
        let id = self.credentials.id().context("the node's certificate names nobody")?;
        Ok(id.to_string())
    }
}

/// Reads the identity, or joins with the invitation. An invitation is also used
/// where the identity at hand leads nowhere; one that works is kept.
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

/// Joins and keeps the identity in `dir`.
pub(crate) async fn join(dir: &Path, token: &str, config: &Config) -> anyhow::Result<Identity> {
    let identity = join_site(dir, token, config).await?;
    colony_fail::hit(colony_fail::Point::NodeJoinAnswered);
    save(dir, &identity)?;
    colony_fail::hit(colony_fail::Point::NodeJoinStored);
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

/// The credentials last: with them the identity is whole.
pub(crate) fn save(dir: &Path, identity: &Identity) -> anyhow::Result<()> {
    let Identity { name, site, urls, .. } = identity.clone();
    let text = serde_json::to_vec_pretty(&Membership { name, site, urls })?;
    let write = || {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("site.json"), text)?;
        fs::File::open(dir.join("site.json"))?.sync_all()
    };
    write().with_context(|| format!("could not write to {}", dir.display()))?;
    colony_fail::hit(colony_fail::Point::NodeJoinHalfStored);
    identity.credentials.save(dir).context("could not store the identity")
}

/// Asks until the site answers or the invitation ends, always with the same
/// key: an answer that was lost is given again.
async fn join_site(dir: &Path, token: &str, config: &Config) -> anyhow::Result<Identity> {
    let key = PrivateKey::to_join(dir).context("could not make or read the key to join with")?;
    colony_fail::hit(colony_fail::Point::NodeJoinKeyStored);
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

/// The host's name as far as it can name a node; the site makes one up if not.
fn host_name() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let first = text.trim().split('.').next()?.to_lowercase();
    let letters = first.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' });
    let name: String = letters.take(63).collect();
    let name = name.trim_matches('-').to_owned();
    name.parse::<NodeName>().ok().map(|it| it.to_string())
}
