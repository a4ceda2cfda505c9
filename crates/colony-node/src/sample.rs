//! A node's settings and its identity, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use colony_core::node::Policy;
use colony_wfm::{Authority, Credentials, PrivateKey, SpiffeId};

use crate::manager::Manager;
use crate::{Choice, Config, Identity, clock};

pub(crate) const SITE: &str = "home";
const DOMAIN: &str = "fleet.example";

pub(crate) fn config(data: &Path) -> Config {
    Config {
        data: data.to_owned(),
        join: None,
        name: None,
        engine: Choice::Auto,
        labels: BTreeMap::new(),
        health: None,
        insecure_registries: BTreeSet::new(),
        environment: BTreeMap::new(),
        policy: Policy::default(),
    }
}

pub(crate) fn authority() -> Authority {
    Authority::create(DOMAIN, clock::unix()).expect("an authority")
}

/// Node `n1` of a site that does not answer.
pub(crate) fn identity(authority: &Authority) -> Identity {
    let key = PrivateKey::generate().expect("a key");
    let id = SpiffeId::wfm_client(DOMAIN, SITE, "n1").expect("an id");
    let life = std::time::Duration::from_secs(3_600);
    let csr = key.csr().expect("a request");
    let chain_pem = authority.sign(&csr, &id, &[], clock::unix(), life).expect("a certificate");
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
