//! The identity of this role: the fleet's authority, its own certificate, its
//! tokens.
//!
//! Everything is made at the first start and kept in the data directory: `ca/`
//! holds the authority, `server/` the certificate of the port, `token.key` the
//! key that signs join tokens. The certificate is made again when it nears its
//! end or when the addresses of this role have changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use colony_wfm::{Authority, Credentials, PrivateKey, SpiffeId, TokenSigner, file};

/// How long the certificate of the port lasts.
const SERVER: Duration = Duration::from_secs(90 * 86_400);
/// How long the certificate of a site's orchestrator lasts.
pub(crate) const SITE: Duration = Duration::from_secs(90 * 86_400);

/// The fleet's own keys.
#[derive(Debug)]
pub(crate) struct Identity {
    pub authority: Authority,
    pub signer: TokenSigner,
    data: PathBuf,
    hosts: Vec<String>,
}

impl Identity {
    /// Reads the identity from `data`, or makes it.
    pub(crate) fn open(data: &Path, hosts: Vec<String>, now: i64) -> anyhow::Result<Identity> {
        let authority = open_authority(&data.join("ca"), now)?;
        let signer = match TokenSigner::load(data).context("could not read the token key")? {
            Some(it) => it,
            None => make_signer(data)?,
        };
        Ok(Identity { authority, signer, data: data.to_owned(), hosts })
    }

    pub(crate) fn domain(&self) -> &str {
        self.authority.trust_domain()
    }

    pub(crate) fn ca_path(&self) -> PathBuf {
        self.data.join("ca").join("ca.pem")
    }

    /// The certificate of the port; the stored one as long as it can be used.
    pub(crate) fn server(&self, now: i64) -> anyhow::Result<Credentials> {
        let dir = self.data.join("server");
        let kept = Credentials::load(&dir).context("could not read the server's certificate")?;
        let hosts = file::read(&dir.join("hosts"))?;
        let wanted = self.hosts.join("\n");
        if let Some(kept) = kept
            && hosts.as_deref() == Some(wanted.as_str())
            && !is_due(&kept, now)
        {
            return Ok(kept);
        }
        let made = self.make_server(now)?;
        std::fs::create_dir_all(&dir).context("could not make the server's folder")?;
        made.save(&dir).context("could not keep the server's certificate")?;
        colony_process::fail::hit(colony_process::fail::Point::CentralServerHalfStored);
        file::write_secret(&dir.join("hosts"), &wanted)?;
        Ok(made)
    }

    fn make_server(&self, now: i64) -> anyhow::Result<Credentials> {
        let key = PrivateKey::generate().context("could not make the server's key")?;
        let id = SpiffeId::central(self.domain())?;
        let csr = key.csr().context("could not create the server's certificate request")?;
        let chain = self.authority.sign(&csr, &id, &self.hosts, now, SERVER);
        Ok(Credentials {
            chain_pem: chain.context("could not sign the server's certificate")?,
            key_pem: key.to_pem(),
            roots_pem: self.authority.root_pem().to_owned(),
        })
    }

    /// The certificate of a site's orchestrator.
    pub(crate) fn sign_site(
        &self,
        csr: &str,
        site: &str,
        now: i64,
    ) -> Result<String, colony_wfm::IdentityError> {
        let id = SpiffeId::site_client(self.domain(), site)?;
        self.authority.sign(csr, &id, &[], now, SITE)
    }
}

/// Past half of its lifetime, or not valid yet.
fn is_due(kept: &Credentials, now: i64) -> bool {
    kept.validity().map_or(true, |(from, to)| now >= from + (to - from) / 2 || now < from)
}

fn open_authority(dir: &Path, now: i64) -> anyhow::Result<Authority> {
    if let Some(it) = Authority::load(dir).context("could not read the fleet's authority")? {
        return Ok(it);
    }
    let random = uuid::Uuid::new_v4().simple().to_string();
    let domain = format!("fleet.{}", &random[..8]);
    let authority = Authority::create(&domain, now).context("could not make the authority")?;
    std::fs::create_dir_all(dir).context("could not make the authority's folder")?;
    authority.save(dir).context("could not keep the fleet's authority")?;
    colony_process::fail::hit(colony_process::fail::Point::CentralAuthorityMade);
    Ok(authority)
}

fn make_signer(data: &Path) -> anyhow::Result<TokenSigner> {
    let signer = TokenSigner::generate().context("could not make the token key")?;
    signer.save(data).context("could not keep the token key")?;
    colony_process::fail::hit(colony_process::fail::Point::CentralTokenKeyMade);
    Ok(signer)
}
