//! The site's own server certificate: created at every start, and again long
//! before it expires. Its key is never written to disk.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use colony_core::id::SiteName;
use colony_wfm::{Authority, ClientAuth, Credentials, PrivateKey, Reloader, SpiffeId, tls};

use crate::clock::Clock;

const LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// The age at which it is replaced, in seconds.
const RENEW: i64 = 30 * 86_400;
/// How often its age is checked.
const LOOK: Duration = Duration::from_secs(30);

/// What a certificate is made of.
#[derive(Debug, Clone)]
pub(crate) struct ServerCertificate {
    pub authority: Authority,
    pub site: SiteName,
    pub hosts: Vec<String>,
}

impl ServerCertificate {
    pub(crate) fn tls(&self) -> anyhow::Result<Arc<rustls::ServerConfig>> {
        let key = PrivateKey::generate().context("could not make a key")?;
        let id = SpiffeId::wfm(self.authority.trust_domain(), self.site.as_str())?;
        let csr = key.csr().context("could not make a certificate request")?;
        let chain = self.authority.sign(&csr, &id, &self.hosts, Clock::unix(), LIFETIME);
        let credentials = Credentials {
            chain_pem: chain.context("could not sign the site's own certificate")?,
            key_pem: key.to_pem(),
            roots_pem: self.authority.root_pem().to_owned(),
        };
        tls::server_config(&credentials, ClientAuth::Optional).context("could not set up TLS")
    }

    /// Replaces the certificate when it is old, and when the clock was set: a
    /// site may start with a wrong time and learn the right one later. Open
    /// connections keep the certificate they began with.
    pub(crate) async fn renew(
        self,
        reloader: Reloader,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut made = Clock::unix();
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(LOOK) => {}
            }
            made = self.renew_if_due(made, Clock::unix(), &reloader);
        }
    }

    /// Returns when the certificate in use was created.
    fn renew_if_due(&self, made: i64, now: i64, reloader: &Reloader) -> i64 {
        if !is_due(made, now) {
            return made;
        }
        match self.tls() {
            Ok(config) => {
                reloader.set(config);
                info!("renewed the site's own certificate");
                now
            }
            Err(error) => {
                warn!("could not renew the site's own certificate: {error:#}");
                made
            }
        }
    }
}

/// A creation time in the future means that the clock was wrong at that time.
fn is_due(made: i64, now: i64) -> bool {
    !(0..RENEW).contains(&(now - made))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};

    use axum::Router;
    use colony_wfm::{Peer, TlsListener, Trust};
    use rustls::pki_types::ServerName;

    use super::*;

    #[test]
    fn a_certificate_is_made_again_when_it_is_old_or_the_clock_was_wrong() {
        check(0, false);
        check(RENEW - 1, false);
        check(RENEW, true);
        check(-1, true);
    }

    #[tokio::test]
    async fn certificate_is_renewed_when_it_is_due_and_not_before() {
        let authority = Authority::create("site-home.example", Clock::unix()).expect("a CA");
        let site = "home".parse().expect("a name");
        let own = ServerCertificate { authority, site, hosts: vec!["127.0.0.1".to_owned()] };
        let anywhere = ([127, 0, 0, 1], 0).into();
        let port = TlsListener::bind(anywhere, own.tls().expect("TLS")).await.expect("a port");
        let (address, reloader) = (port.local_addr(), port.reloader());
        let (stop, grace) = (std::future::pending(), Duration::ZERO);
        let server = tokio::spawn(colony_wfm::serve(port, Router::new(), Peer::of, stop, grace));
        let made = 1_800_000_000;
        let renew = |now| own.renew_if_due(made, now, &reloader);
        let first = served(&own, address).await;

        assert_eq!(renew(made + RENEW - 1), made, "it is young");
        assert!(served(&own, address).await == first, "it is the same certificate");
        assert_eq!(renew(made + RENEW), made + RENEW);
        assert!(served(&own, address).await != first, "the next connection gets another one");
        server.abort();
    }

    /// The certificate that a node gets with its next connection.
    async fn served(own: &ServerCertificate, address: SocketAddr) -> Vec<u8> {
        let expect = SpiffeId::wfm(own.authority.trust_domain(), own.site.as_str()).expect("an id");
        let trust = Trust::Roots { pem: own.authority.root_pem(), expect };
        let config = tls::client_config(None, trust).expect("TLS");
        let name = ServerName::from(address.ip());
        let shake = move || {
            let mut client = rustls::ClientConnection::new(config, name).expect("a client");
            let mut stream = TcpStream::connect(address).expect("it listens");
            client.complete_io(&mut stream).expect("the site is trusted");
            client.peer_certificates().expect("a certificate")[0].to_vec()
        };
        tokio::task::spawn_blocking(shake).await.expect("no panic")
    }

    #[track_caller]
    fn check(age: i64, expected: bool) {
        let made = 1_800_000_000;
        assert_eq!(is_due(made, made + age), expected, "{age} s old");
    }
}
