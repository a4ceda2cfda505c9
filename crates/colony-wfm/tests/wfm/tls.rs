//! Who gets a connection and who does not.

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use colony_wfm::{
    Authority, ClientAuth, Credentials, Link, Peer, PrivateKey, SpiffeId, Trust, tls,
};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType};
use tokio::net::TcpStream;

use crate::support::{self, DAY, Server, Site, error_text, now};

const DOMAIN: &str = "site-a.00ff";

#[tokio::test]
async fn member_is_known_by_its_certificate() {
    let site = Site::new(DOMAIN);
    let expected = "spiffe://site-a.00ff/margo/wfm/a/client/n1";
    check(&site, ClientAuth::Required, Some(&site.node("n1")), expected).await;
    check(&site, ClientAuth::Optional, Some(&site.node("n1")), expected).await;
}

#[tokio::test]
async fn member_is_known_by_the_key_it_asked_for() {
    let site = Site::new(DOMAIN);
    let shown = |ConnectInfo(peer): ConnectInfo<Peer>| async move { format!("{:?}", peer.key) };
    let server = Router::new().route("/", get(shown));
    let server = Server::start(server, &site.server(), ClientAuth::Optional).await;
    let id = SpiffeId::wfm_client(DOMAIN, "a", "n1").unwrap();
    for algorithm in
        [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_ED25519]
    {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let csr = CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap();
        let chain = site.authority.sign(&csr, &id, &[], now(), DAY).unwrap();
        let own = site.credentials(chain, key.serialize_pem());
        let answer = support::get(&site.link(&own, &server), "/").await.unwrap();
        let asked = format!("{:?}", Some(colony_wfm::requested_key(&csr).unwrap()));
        assert_eq!(String::from_utf8_lossy(&answer.body), asked);
    }
}

#[tokio::test]
async fn nobody_is_let_in_only_where_that_is_meant() {
    let site = Site::new(DOMAIN);
    check(&site, ClientAuth::Optional, None, "anonymous").await;
    check(&site, ClientAuth::Required, None, "CertificateRequired").await;
}

#[tokio::test]
async fn certificates_of_another_authority_are_refused() {
    let (site, other) = (Site::new(DOMAIN), Site::new("site-b.00ff"));
    let twin = Site::new(DOMAIN);
    for clients in [ClientAuth::Required, ClientAuth::Optional] {
        check(&site, clients, Some(&other.node("n1")), "fatal alert: UnknownCA").await;
        check(&site, clients, Some(&twin.node("n1")), "fatal alert").await;
    }
}

#[tokio::test]
async fn expired_and_early_certificates_are_refused() {
    let site = Site::new(DOMAIN);
    let id = SpiffeId::wfm_client(DOMAIN, "a", "n1").unwrap();
    let expired = site.member(&id, now() - 2 * 86_400);
    check(&site, ClientAuth::Required, Some(&expired), "fatal alert: CertificateExpired").await;
    let early = site.member(&id, now() + 86_400);
    check(&site, ClientAuth::Optional, Some(&early), "fatal alert").await;
    let clock_behind = site.member(&id, now() + 240);
    check(&site, ClientAuth::Required, Some(&clock_behind), id.as_str()).await;
}

#[tokio::test]
async fn certificates_that_are_no_svids_are_refused() {
    let site = Site::new(DOMAIN);
    let id = "spiffe://site-a.00ff/margo/wfm/a/client/n1";
    let good = forge(&site, &[id], IsCa::ExplicitNoCa);
    check(&site, ClientAuth::Required, Some(&good), id).await;
    for uris in
        [&[][..], &[id, id], &["https://n1"], &["spiffe://site-b.00ff/margo/wfm/a/client/n1"]]
    {
        let forged = forge(&site, uris, IsCa::ExplicitNoCa);
        check(&site, ClientAuth::Required, Some(&forged), "fatal alert").await;
    }
    let ca = forge(&site, &[id], IsCa::Ca(rcgen::BasicConstraints::Unconstrained));
    check(&site, ClientAuth::Required, Some(&ca), "fatal alert").await;
}

#[tokio::test]
async fn server_must_be_who_is_expected() {
    let (site, twin) = (Site::new(DOMAIN), Site::new(DOMAIN));
    let root = site.authority.root_pem();
    let roots = |expect: SpiffeId| Trust::Roots { pem: root, expect };
    check_server(&site.server(), roots(site.wfm()), "anonymous").await;
    let other = SpiffeId::wfm(DOMAIN, "b").unwrap();
    let expected =
        "server is `spiffe://site-a.00ff/margo/wfm/a`, not `spiffe://site-a.00ff/margo/wfm/b`";
    check_server(&site.server(), roots(other), expected).await;
    check_server(&twin.server(), roots(site.wfm()), "invalid peer certificate").await;
    let expired = site.member(&site.wfm(), now() - 2 * 86_400);
    check_server(&expired, roots(site.wfm()), "invalid peer certificate: certificate expired")
        .await;
    check_server(&site.server(), Trust::RootsAnyHost { pem: root }, "anonymous").await;
    check_server(&twin.server(), Trust::RootsAnyHost { pem: root }, "invalid peer certificate")
        .await;
}

#[tokio::test]
async fn pin_finds_the_right_authority_only() {
    let (site, twin) = (Site::new(DOMAIN), Site::new(DOMAIN));
    let fingerprint = site.authority.fingerprint();
    let pin = || Trust::Pin { fingerprint: &fingerprint };
    check_server(&site.server(), pin(), "anonymous").await;
    check_server(&twin.server(), pin(), "server does not present the pinned authority").await;
    // The right authority is sent along, but did not sign.
    let mut liar = twin.server();
    liar.chain_pem = format!("{}{}", liar.chain_pem, site.authority.root_pem());
    check_server(&liar, pin(), "invalid peer certificate").await;
    let expired = site.member(&site.wfm(), now() - 2 * 86_400);
    check_server(&expired, pin(), "invalid peer certificate: certificate expired").await;
    assert!(tls::client_config(None, Trust::Pin { fingerprint: "sha256:12" }).is_err());
}

#[tokio::test]
async fn member_cannot_pass_for_a_server() {
    let site = Site::new(DOMAIN);
    let (root, fingerprint) = (site.authority.root_pem(), site.authority.fingerprint());
    let node = site.node("n1");
    let refused = "invalid peer certificate";
    check_server(&node, Trust::Pin { fingerprint: &fingerprint }, refused).await;
    check_server(&node, Trust::RootsAnyHost { pem: root }, refused).await;
    let lo = SpiffeId::site_client(DOMAIN, "a").unwrap();
    check_server(&site.member(&lo, now()), Trust::RootsAnyHost { pem: root }, refused).await;
}

#[tokio::test]
async fn configuration_is_replaced_for_connections_to_come() {
    let site = Site::new(DOMAIN);
    let server = Server::start(who(), &site.server(), ClientAuth::Optional).await;
    let link = site.link(&site.node("n1"), &server);
    support::get(&link, "/").await.unwrap();
    let next = Site::new(DOMAIN);
    server.reloader.set(tls::server_config(&next.server(), ClientAuth::Required).unwrap());
    assert!(support::get(&link, "/").await.is_ok(), "the kept connection stays");
    assert!(support::get(&site.link(&site.node("n1"), &server), "/").await.is_err());
    let answer = support::get(&next.link(&next.node("n2"), &server), "/").await.unwrap();
    assert!(answer.body.ends_with(b"/client/n2"), "{answer:?}");
}

#[tokio::test]
async fn silent_strangers_hold_up_nobody() {
    let site = Site::new(DOMAIN);
    let server = Server::start(who(), &site.server(), ClientAuth::Required).await;
    let mut strangers = Vec::new();
    for _ in 0..50 {
        strangers.push(TcpStream::connect(server.addr).await.unwrap());
    }
    assert!(support::get(&site.link(&site.node("n1"), &server), "/").await.is_ok());
}

#[tokio::test]
async fn port_is_free_again_when_the_listener_is_dropped() {
    let site = Site::new(DOMAIN);
    let server = Server::start(who(), &site.server(), ClientAuth::Required).await;
    let addr = server.addr;
    drop(server);
    let closed = async {
        while TcpStream::connect(addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), closed).await.unwrap();
}

/// Connects with `own` and compares who the server says it sees.
async fn check(site: &Site, clients: ClientAuth, own: Option<&Credentials>, expected: &str) {
    let server = Server::start(who(), &site.server(), clients).await;
    let trust = Trust::Roots { pem: site.authority.root_pem(), expect: site.wfm() };
    check_connection(&server, own, trust, expected).await;
}

/// Connects without a certificate to a server with these credentials.
async fn check_server(server: &Credentials, trust: Trust<'_>, expected: &str) {
    let server = Server::start(who(), server, ClientAuth::Optional).await;
    check_connection(&server, None, trust, expected).await;
}

async fn check_connection(
    server: &Server,
    own: Option<&Credentials>,
    trust: Trust<'_>,
    expected: &str,
) {
    let link = Link::new(&server.url, tls::client_config(own, trust).unwrap()).unwrap();
    let seen = match support::get(&link, "/").await {
        Ok(answer) => String::from_utf8(answer.body.to_vec()).unwrap(),
        Err(error) => error_text(&error),
    };
    assert!(seen.contains(expected), "expected `{expected}`, got `{seen}`");
}

fn who() -> Router {
    let answer = |ConnectInfo(peer): ConnectInfo<Peer>| async move {
        peer.id.map_or("anonymous".to_owned(), |it| it.to_string())
    };
    Router::new().route("/", get(answer))
}

/// A certificate that the site's authority signed without looking.
fn forge(site: &Site, uris: &[&str], is_ca: IsCa) -> Credentials {
    let issuer = stolen(&site.authority);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    let uri = |it: &&str| SanType::URI((*it).try_into().unwrap());
    params.subject_alt_names = uris.iter().map(uri).collect();
    params.is_ca = is_ca;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let signed = params.signed_by(&key, &issuer).unwrap();
    let chain = format!("{}{}", signed.pem(), site.authority.root_pem());
    site.credentials(chain, key.serialize_pem())
}

fn stolen(authority: &Authority) -> Issuer<'static, KeyPair> {
    let dir = tempfile::tempdir().unwrap();
    authority.save(dir.path()).unwrap();
    let key = std::fs::read_to_string(dir.path().join("ca.key")).unwrap();
    Issuer::from_ca_cert_pem(authority.root_pem(), KeyPair::from_pem(&key).unwrap()).unwrap()
}

#[test]
fn a_lifetime_is_at_least_what_was_asked() {
    let site = Site::new(DOMAIN);
    let key = PrivateKey::generate().unwrap();
    let signed = site.authority.sign(&key.csr().unwrap(), &site.wfm(), &[], 1000, DAY).unwrap();
    let own = site.credentials(signed, key.to_pem());
    assert_eq!(own.validity().unwrap(), (700, 1000 + 86_400));
}
