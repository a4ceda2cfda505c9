//! Renews the site's certificate in the fleet at half of its life.
//!
//! The key stays. The certificate on disk decides, so one whose answer was
//! lost, or that could not be stored, is requested again. A certificate that
//! expired while the orchestrator was off cannot be renewed: the site has to be
//! invited again.

use std::time::Duration;

use anyhow::Context;
use tracing::info;

use colony_api::site::SiteRenewed;
use colony_process::Reconcile;
use colony_wfm::{Credentials, PrivateKey};

use crate::brain::Brain;
use crate::clock::Clock;
use crate::health::Health;
use crate::home::Home;
use crate::uplink::central::Central;
use crate::uplink::record_result;

/// How often the age of the certificate is checked.
const LOOK: Duration = Duration::from_secs(3_600);

#[derive(Debug)]
pub(crate) struct Renew {
    pub brain: Brain,
    pub health: Health,
    pub central: Central,
    pub home: Home,
}

impl Reconcile for Renew {
    const NAME: &'static str = "renew";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let own = self.home.credentials()?;
        let (from, to) = own.validity().context("the site's certificate cannot be read")?;
        if Clock::unix() < from + (to - from) / 2 {
            return Ok(LOOK);
        }
        let key = PrivateKey::from_pem(&own.key_pem).context("the site's key cannot be read")?;
        let renewed = self.central.renew(key.csr()?).await;
        let renewed = record_result(&self.brain, &self.health, renewed).await;
        let fresh = fresh(own, renewed.context("could not renew the site's certificate")?)?;
        colony_process::fail::hit(colony_process::fail::Point::LocalRenewAnswered);
        self.central.replace(&fresh)?;
        self.home.renewed(&fresh)?;
        colony_process::fail::hit(colony_process::fail::Point::LocalRenewStored);
        info!("renewed the site's certificate in the fleet");
        Ok(LOOK)
    }
}

/// A certificate of another identity must never replace a valid one.
fn fresh(own: Credentials, renewed: SiteRenewed) -> anyhow::Result<Credentials> {
    let id = own.id().context("the site's certificate has no identity")?;
    let (chain_pem, roots_pem) = (renewed.chain, renewed.roots);
    let fresh = Credentials { chain_pem, key_pem: own.key_pem, roots_pem };
    let found = fresh.id().context("the renewed certificate cannot be read")?;
    anyhow::ensure!(found == id, "the renewed certificate is that of {found}, not of {id}");
    Ok(fresh)
}
