//! Renews the certificate at half of its life. Workloads notice nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::info;

use colony_process::Reconcile;
use colony_wfm::{Credentials, PrivateKey};

use crate::clock;
use crate::manager::Manager;

/// How often the age of the certificate is checked.
const LOOK: Duration = Duration::from_secs(3_600);

pub(crate) async fn run(
    manager: Arc<Manager>,
    data: PathBuf,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let wake = manager.renew.clone();
    colony_process::run(Renew { manager, dir: data.join("identity") }, wake, stop).await;
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
        colony_process::fail::hit(colony_process::fail::Point::NodeRenewAnswered);
        let (chain_pem, roots_pem) = (renewed.chain, renewed.roots);
        let fresh = Credentials { chain_pem, key_pem: own.key_pem, roots_pem };
        fresh.save(&self.dir).context("could not store the renewed certificate")?;
        colony_process::fail::hit(colony_process::fail::Point::NodeRenewStored);
        self.manager.replace(fresh)?;
        info!("certificate renewed");
        Ok(LOOK)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::Identity;
    use crate::kit::sample;
    use crate::kit::stand_in::StandIn;

    #[tokio::test]
    async fn a_certificate_is_renewed_at_half_of_its_life() {
        check(0, false).await;
        // It begins 300 s before it was made, and lasts for 3,900 s.
        check(1_640, false).await;
        check(1_650, true).await;
        check(3_500, true).await;
    }

    #[tokio::test]
    async fn it_looks_again_until_it_is_stopped() {
        let (_, manager) = sample::joined();
        let (dir, stop) = (tempfile::tempdir().expect("a directory"), CancellationToken::new());
        let looking = run(manager, dir.path().to_owned(), stop.clone());
        let mut looking = std::pin::pin!(looking);
        assert!(looking.as_mut().now_or_never().is_none());
        stop.cancel();
        looking.await.expect("it ends");
    }

    /// Checks a certificate that was made so many seconds ago.
    async fn check(age: i64, renewed: bool) {
        let site = StandIn::start(&[200]).await;
        let identity = sample::identity_since(&site.authority, clock::unix() - age);
        let old = identity.credentials.clone();
        let identity = Identity { urls: vec![site.url.clone()], ..identity };
        let manager = Arc::new(Manager::new(&identity).expect("a way to the manager"));
        let dir = tempfile::tempdir().expect("a directory");
        let mut renew = Renew { manager: manager.clone(), dir: dir.path().to_owned() };

        assert_eq!(renew.reconcile().await.expect("an answer"), LOOK);

        assert_eq!(site.seen().len(), usize::from(renewed), "{age} s old");
        assert_eq!(manager.credentials() != old, renewed, "{age} s old");
        let kept = Credentials::load(dir.path()).expect("it is read");
        assert_eq!(kept, renewed.then(|| manager.credentials()), "{age} s old");
        assert_eq!(manager.credentials().key_pem, old.key_pem, "the key stays");
    }
}
