//! A node's settings and its identity, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use colony_core::attempt::Failure;
use colony_core::margo::{Capabilities, DeploymentId, Digest, ManifestVersion, StateManifest};
use colony_core::node::{Input, Policy};
use colony_runtime::{DocumentPolicy, LogPage, LogQuery};
use colony_wfm::{Authority, Claims, Credentials, PrivateKey, SpiffeId, TokenKind, TokenSigner};

use crate::manager::Manager;
use crate::manager::logs::LogSource;
use crate::{Choice, Config, CredentialStore, Identity, clock};

pub(crate) const SITE: &str = "home";
const DOMAIN: &str = "fleet.example";

pub(crate) fn config(data: &Path) -> Config {
    Config {
        data: data.to_owned(),
        join: None,
        name: None,
        engines: vec![Choice::Auto],
        helm: None,
        labels: BTreeMap::new(),
        health: None,
        insecure_registries: BTreeSet::new(),
        images: colony_core::node::image::ImagePolicy::default(),
        documents: DocumentPolicy::default(),
        credentials: CredentialStore::default(),
        environment: BTreeMap::new(),
        policy: Policy::default(),
    }
}

pub(crate) fn authority() -> Authority {
    Authority::create(DOMAIN, clock::unix()).expect("an authority")
}

/// Node `n1` of a site that does not answer.
pub(crate) fn identity(authority: &Authority) -> Identity {
    identity_since(authority, clock::unix())
}

/// The same, with a certificate for an hour from `from` on.
pub(crate) fn identity_since(authority: &Authority, from: i64) -> Identity {
    let key = PrivateKey::generate().expect("a key");
    let id = SpiffeId::wfm_client(DOMAIN, SITE, "n1").expect("an id");
    let life = std::time::Duration::from_secs(3_600);
    let csr = key.csr().expect("a request");
    let chain_pem = authority.sign(&csr, &id, &[], from, life).expect("a certificate");
    let roots_pem = authority.root_pem().to_owned();
    let credentials = Credentials { chain_pem, key_pem: key.to_pem(), roots_pem };
    let (name, site) = ("n1".to_owned(), SITE.to_owned());
    Identity { name, site, urls: vec!["https://127.0.0.1:1".to_owned()], credentials }
}

pub(crate) fn joined() -> (Identity, Arc<Manager>) {
    let identity = identity(&authority());
    let manager = Manager::new(&identity).expect("a way to the manager");
    (identity, Arc::new(manager))
}

/// An invitation to node `n1` of a site.
pub(crate) fn invitation(site: &str, url: &str, authority: &Authority) -> String {
    let claims = Claims {
        kind: TokenKind::Node,
        id: "t1".to_owned(),
        site: site.to_owned(),
        urls: vec![url.to_owned()],
        pin: authority.fingerprint(),
        expires: i64::MAX,
        replace: false,
    };
    TokenSigner::generate().expect("a signer").sign(&claims)
}

/// The capabilities of a device without resources.
pub(crate) fn capabilities(identity: &Identity) -> Capabilities {
    let id = identity.device().expect("an id");
    let text = serde_json::json!({
        "properties": { "id": id, "vendor": "v", "modelNumber": "m", "serialNumber": "s" },
    });
    Capabilities::parse(text.to_string().as_bytes()).expect("good capabilities").value
}

/// An engine without a line of logs.
pub(crate) struct NoLogs;

#[async_trait]
impl LogSource for NoLogs {
    async fn logs(&self, _: &DeploymentId, _: &LogQuery) -> Result<LogPage, Failure> {
        Ok(LogPage { lines: Vec::new(), position: String::new() })
    }
}

/// A manifest with one deployment, and its document.
pub(crate) fn manifest(version: u64) -> Input {
    let document = DOCUMENT.as_bytes().to_vec();
    let id = DEPLOYMENT.parse().expect("an id");
    let version = ManifestVersion::new(version).expect("a version");
    let (manifest, _) = StateManifest::new(version, &[(id, document.clone())]);
    let bytes = manifest.to_bytes();
    let etag = Some(Digest::of(&bytes).to_string());
    Input::Manifest { bytes, etag, documents: BTreeMap::from([(Digest::of(&document), document)]) }
}

pub(crate) const DEPLOYMENT: &str = "6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40";
const DOCUMENT: &str = "\
id: 6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40
metadata:
  name: hello
  namespace: default
  deviceId: n1
spec:
  applicationId: hello
  deploymentProfile:
    type: compose
    components:
      - name: web
        properties:
          repository: oci://registry.test/hello
          revision: 1.0.0
  parameters: {}
";
