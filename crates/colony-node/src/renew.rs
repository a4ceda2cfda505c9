//! Renews the certificate at half of its life. Workloads notice nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::info;

use colony_task::Reconcile;
use colony_wfm::{Credentials, PrivateKey};

use crate::clock;
use crate::manager::Manager;

/// How often it is asked whether it is time.
const LOOK: Duration = Duration::from_secs(3_600);

pub(crate) async fn run(
    manager: Arc<Manager>,
    data: PathBuf,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let wake = manager.renew.clone();
    colony_task::run(Renew { manager, dir: data.join("identity") }, wake, stop).await;
    Ok(())
}

struct Renew {
    manager: Arc<Manager>,
    dir: PathBuf,
}

impl Reconcile for Renew {
    const NAME: &'static str = "renew";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let own = self.manager.credentials();
        let (from, to) = own.validity().context("the node's certificate cannot be read")?;
        if clock::unix() < from + (to - from) / 2 {
            return Ok(LOOK);
        }
        let key = PrivateKey::from_pem(&own.key_pem).context("the node's key cannot be read")?;
        let renewed = self.manager.client().renew(&key.csr()?).await;
        let renewed = renewed.context("could not renew the certificate")?;
        colony_fail::hit(colony_fail::Point::NodeRenewAnswered);
        let (chain_pem, roots_pem) = (renewed.chain, renewed.roots);
        let fresh = Credentials { chain_pem, key_pem: own.key_pem, roots_pem };
        fresh.save(&self.dir).context("could not store the renewed certificate")?;
        colony_fail::hit(colony_fail::Point::NodeRenewStored);
        self.manager.replace(fresh)?;
        info!("certificate renewed");
        Ok(LOOK)
    }
}
