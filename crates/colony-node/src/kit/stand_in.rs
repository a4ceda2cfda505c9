//! A site for tests that gives prepared answers over real TLS.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use colony_wfm::join::RenewRequest;
use colony_wfm::{
    Authority, ClientAuth, Credentials, Joined, Peer, PrivateKey, SpiffeId, TlsListener, tls,
};
use tokio::task::JoinHandle;

use crate::clock;
use crate::kit::sample;

/// Ends when it is dropped.
pub(crate) struct StandIn {
    pub(crate) url: String,
    pub(crate) authority: Authority,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl StandIn {
    /// Answers requests with these statuses in turn, and repeats the last one.
    pub(crate) async fn start(statuses: &'static [u16]) -> StandIn {
        let authority = sample::authority();
        let signer = authority.clone();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = seen.clone();
        let app = Router::new().fallback(move |request: Request| {
            let (heard, signer) = (heard.clone(), signer.clone());
            async move {
                let path = request.uri().path().to_owned();
                let body = to_bytes(request.into_body(), 1 << 20).await.expect("a body");
                let count = note(&heard, &path);
                let status = statuses[count.min(statuses.len() - 1)];
                let status = StatusCode::from_u16(status).expect("a status");
                (status, answer(&signer, &path, &body))
            }
        });
        let mut site = StandIn::serving(app, authority).await;
        site.seen = seen;
        site
    }

    /// Answers requests with `app`.
    pub(crate) async fn serving(app: Router, authority: Authority) -> StandIn {
        let config = tls::server_config(&own(&authority), ClientAuth::Optional).expect("TLS");
        let address = ([127, 0, 0, 1], 0).into();
        let listener = TlsListener::bind(address, config).await.expect("a free port");
        let url = format!("https://{}", listener.local_addr());
        let (stop, grace) = (std::future::pending(), Duration::ZERO);
        let task = tokio::spawn(colony_wfm::serve(listener, app, Peer::of, stop, grace));
        StandIn { url, authority, seen: Arc::default(), task }
    }

    /// The paths of all requests.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Records a request; returns how many came before.
fn note(seen: &Mutex<Vec<String>>, path: &str) -> usize {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.push(path.to_owned());
    seen.len() - 1
}

fn answer(authority: &Authority, path: &str, body: &[u8]) -> String {
    if !path.starts_with("/colony/v1/") {
        return String::new();
    }
    let request: RenewRequest = serde_json::from_slice(body).expect("it holds a request");
    let id = SpiffeId::wfm_client(authority.trust_domain(), sample::SITE, "n1").expect("an id");
    let life = std::time::Duration::from_secs(3_600);
    let chain = authority.sign(&request.csr, &id, &[], clock::unix(), life).expect("it is signed");
    let (name, site) = ("n1".to_owned(), sample::SITE.to_owned());
    let joined = Joined { chain, roots: authority.root_pem().to_owned(), name, site };
    serde_json::to_string(&joined).expect("it is JSON")
}

fn own(authority: &Authority) -> Credentials {
    let key = PrivateKey::generate().expect("a key");
    let id = SpiffeId::wfm(authority.trust_domain(), sample::SITE).expect("an id");
    let life = std::time::Duration::from_secs(3_600);
    let csr = key.csr().expect("a request");
    let chain_pem = authority.sign(&csr, &id, &[], clock::unix(), life).expect("a certificate");
    let roots_pem = authority.root_pem().to_owned();
    Credentials { chain_pem, key_pem: key.to_pem(), roots_pem }
}
