//! Who may take a site, once.

use std::time::Duration;

use colony_api::request::{Invite, SiteAdd, SiteTrust};
use colony_api::site::SiteRenewed;
use colony_core::margo::Digest;
use colony_wfm::{Answer, Authority, Credentials, Link, PrivateKey, SpiffeId, Trust, tls, token};
use http::Method;

use crate::support::{Hub, Lo};

#[tokio::test]
async fn a_token_lets_one_orchestrator_in_and_a_living_site_needs_replace() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let add = SiteAdd { name: "home".to_owned(), ..SiteAdd::default() };
    let first = hub.client.site_add(&add).await.expect("a site").token;
    let lo = Lo::join(&hub, &first, false).await.expect("it joins");
    assert_eq!(lo.joined.incarnation, 0);

    let again = invite(&hub, false).await;
    check(&hub, &again, false, "join with `--replace` to fence it off").await;
    // A refused join spends no token.
    let second = Lo::join(&hub, &again, true).await.expect("it replaces");
    assert_eq!(second.joined.incarnation, 1);
    check(&hub, &first, false, "invitation was already used; create another one with `colony node invite` or `colony site invite`").await;
    check(&hub, &again, true, "invitation was already used; create another one with `colony node invite` or `colony site invite`").await;
    let asked = invite(&hub, true).await;
    assert_eq!(Lo::join(&hub, &asked, false).await.expect("it replaces").joined.incarnation, 2);
    hub.stop().await;
}

#[tokio::test]
async fn who_lost_the_answer_asks_again_with_the_same_key() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let add = SiteAdd { name: "home".to_owned(), ..SiteAdd::default() };
    let token = hub.client.site_add(&add).await.expect("a site").token;
    let key = PrivateKey::generate().expect("a key");
    let again = || PrivateKey::from_pem(&key.to_pem()).expect("the same");

    let lost = Lo::join_with(&hub, again(), &token, false).await.expect("it joins");
    let lo = Lo::join_with(&hub, again(), &token, false).await.expect("it joins again");
    assert_eq!((lost.joined.incarnation, lo.joined.incarnation), (0, 0));
    lo.seed().await;
    check(&hub, &token, false, "invitation was already used; create another one with `colony node invite` or `colony site invite`").await;
    check(&hub, &token, true, "invitation was already used; create another one with `colony node invite` or `colony site invite`").await;

    let after = invite(&hub, true).await;
    assert_eq!(Lo::join(&hub, &after, false).await.expect("it replaces").joined.incarnation, 1);
    let late = Lo::join_with(&hub, again(), &token, false).await.err().expect("it is refused");
    assert!(late.contains("incarnation 1 has taken over the site"), "{late}");
    hub.stop().await;
}

#[tokio::test]
async fn a_replaced_orchestrator_is_told_who_replaced_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut old = hub.site(&["a"]).await;
    hub.deploy("1.0").await;
    old.follow().await;
    let token = invite(&hub, true).await;
    let mut fresh = Lo::join(&hub, &token, false).await.expect("it replaces");

    old.plant.pass(1);
    let answer = old.call(Method::GET, "seed", "").await;
    assert_eq!(answer.status, 409);
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.contains("/fenced") && text.contains("\"current\":1"), "{text}");

    // It is known by its key, whatever it says of itself.
    for headers in [&[][..], &[("colony-incarnation", "1")]] {
        let refs = "/git/deployments.git/info/refs?service=git-upload-pack";
        for path in [refs, "/api/v1/sites/home/seed"] {
            assert_eq!(old.send(Method::GET, path, headers, "").await.status, 409, "{path}");
        }
    }

    let seed = fresh.seed().await;
    assert_eq!((seed.placements.len(), seed.deployments.len()), (1, 1));
    fresh.plant.must(colony_core::site::Input::Seed(Box::new(seed)));
    fresh.pull().await;
    fresh.push().await;
    assert!(fresh.plant.site.is_ready());
    hub.stop().await;
}

#[tokio::test]
async fn a_site_speaks_for_itself_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&[]).await;
    let add = SiteAdd { name: "plant-b".to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("another site");

    lo.joined.site = "plant-b".to_owned();
    let answer = lo.call(Method::GET, "seed", "").await;
    assert_eq!(answer.status, 403);
    let answer = hub.send(Method::GET, "/api/v1/sites/home/seed", "").await;
    assert_eq!(answer.status, 401);
    hub.stop().await;
}

#[tokio::test]
async fn a_certificate_is_renewed_for_who_shows_one_and_was_not_replaced() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&[]).await;
    let csr = lo.key.csr().expect("a request");
    let good = serde_json::json!({ "csr": csr }).to_string();

    assert_eq!(renew(&lo, &[("colony-incarnation", "0")], r#"{"csr":"x"}"#).await.status, 422);
    assert_eq!(renew(&lo, &[], &good).await.status, 200, "its key says who it is");
    assert_eq!(hub.send(Method::POST, "/colony/v1/renew", &good).await.status, 401);
    let answer = renew(&lo, &[("colony-incarnation", "0")], &good).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let renewed: SiteRenewed = serde_json::from_slice(&answer.body).expect("a certificate");
    let own = |chain_pem: &str| Credentials {
        chain_pem: chain_pem.to_owned(),
        key_pem: lo.key.to_pem(),
        roots_pem: renewed.roots.clone(),
    };
    let (old, fresh) = (own(&lo.joined.chain), own(&renewed.chain));
    assert_eq!(fresh.id().expect("an id"), old.id().expect("an id"));
    fresh.save(dir.path()).expect("it is for the same key");
    let expect = SpiffeId::central(&lo.joined.domain).expect("an id");
    let trust = Trust::Roots { pem: &renewed.roots, expect };
    let tls = tls::client_config(Some(&fresh), trust).expect("TLS");
    lo.link = Link::new(&hub.url, tls).expect("a link");
    lo.seed().await;

    let token = invite(&hub, true).await;
    Lo::join(&hub, &token, false).await.expect("it replaces");
    let answer = renew(&lo, &[("colony-incarnation", "0")], &good).await;
    assert!(answer.status == 409 && String::from_utf8_lossy(&answer.body).contains("/fenced"));
    hub.stop().await;
}

#[tokio::test]
async fn a_key_that_did_not_join_gets_and_keeps_no_certificate() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&[]).await;
    let second = PrivateKey::generate().expect("a key");
    let csr = second.csr().expect("a request");
    let asked = serde_json::json!({ "csr": csr }).to_string();
    let refused = renew(&lo, &[("colony-incarnation", "0")], &asked).await;
    let text = String::from_utf8_lossy(&refused.body);
    assert!(refused.status == 403 && text.contains("for the key of the connection"), "{text}");

    // One that the authority signed for another key, as a former version did.
    let authority = Authority::load(&dir.path().join("central/ca")).expect("readable");
    let id = SpiffeId::site_client(&lo.joined.domain, "home").expect("an id");
    let (now, day) = (now(), Duration::from_secs(86_400));
    let signed = authority.expect("it is there").sign(&csr, &id, &[], now, day);
    let own = Credentials {
        chain_pem: signed.expect("a certificate"),
        key_pem: second.to_pem(),
        roots_pem: lo.joined.roots.clone(),
    };
    let expect = SpiffeId::central(&lo.joined.domain).expect("an id");
    let trust = Trust::Roots { pem: &own.roots_pem, expect };
    let tls = tls::client_config(Some(&own), trust).expect("TLS");
    lo.link = Link::new(&hub.url, tls).expect("a link");
    let thief = lo;
    let seed = thief.call(Method::GET, "seed", "").await;
    let text = String::from_utf8_lossy(&seed.body);
    assert!(seed.status == 403 && text.contains("site invite home --replace"), "{text}");
    let refs = "/git/deployments.git/info/refs?service=git-upload-pack";
    assert_eq!(thief.send(Method::GET, refs, &[], "").await.status, 403);
    assert_eq!(renew(&thief, &[("colony-incarnation", "1")], &asked).await.status, 403);
    hub.stop().await;
}

#[tokio::test]
async fn a_renewal_is_on_record() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let lo = hub.site(&[]).await;
    let csr = lo.key.csr().expect("a request");
    let asked = serde_json::json!({ "csr": csr }).to_string();
    assert_eq!(renew(&lo, &[], &asked).await.status, 200);
    let event = hub.event("site_renewed", 0).await;
    assert_eq!((event.site.as_deref(), event.actor.as_str()), (Some("home"), "site:home"));
    hub.stop().await;
}

#[tokio::test]
async fn another_authority_of_a_site_needs_the_word_of_an_admin() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&[]).await;
    let [first, second, third] = ["a", "b", "c"].map(|it| Digest::of(it.as_bytes()).to_string());
    assert_eq!(report(&lo, &first).await.status, 204);
    assert_eq!(report(&lo, &first).await.status, 204);
    assert_eq!(report(&lo, "sha256:zz").await.status, 422);

    let refused = report(&lo, &second).await;
    let text = String::from_utf8_lossy(&refused.body);
    assert!(refused.status == 409 && text.contains("colony site trust home"), "{text}");
    assert_eq!(report(&lo, &second).await.status, 409);
    let event = hub.event("site_authority_refused", 0).await;
    assert_eq!(event.body["fingerprint"], second);
    let head = hub.head().await;
    assert_eq!(pin(&hub).await, first, "nodes are invited as before");

    // What is on record outlives a restart.
    hub.stop().await;
    let hub = Hub::start(dir.path()).await;
    lo.link = Link::new(&hub.url, lo.tls.clone()).expect("a link");
    assert_eq!(report(&lo, &second).await.status, 409);
    let trust = SiteTrust { fingerprint: second.clone() };
    let viewer = hub.made("operator", &["home"]).await;
    let body = serde_json::to_string(&trust).expect("JSON");
    let denied = hub.send_as(&viewer, Method::POST, "/api/v1/sites/home/trust", &body).await;
    assert_eq!(denied.status, 403);
    hub.client.site_trust("home", &trust).await.expect("accepted");
    assert_eq!(hub.event("site_authority_accepted", head).await.actor, "admin");
    assert_eq!(report(&lo, &second).await.status, 204);
    assert_eq!(pin(&hub).await, second);
    assert_eq!(report(&lo, &first).await.status, 409);

    let token = invite(&hub, true).await;
    let fresh = Lo::join(&hub, &token, false).await.expect("it replaces");
    assert_eq!(report(&fresh, &third).await.status, 204, "another orchestrator has its own");
    assert_eq!(pin(&hub).await, third);
    hub.stop().await;
}

/// The authority that the invitation of a node names.
async fn pin(hub: &Hub) -> String {
    let invite = hub.client.node_invite("home", &Invite::default()).await.expect("a token");
    token::read(&invite.token).expect("claims").pin
}

async fn report(lo: &Lo, ca: &str) -> Answer {
    let report = serde_json::json!({
        "ready": true, "version": "1", "urls": ["https://plant:7444"],
        "ca": ca, "caPem": "", "domain": "site-home.0",
    });
    lo.call(Method::PUT, "nodes", &report.to_string()).await
}

#[expect(clippy::disallowed_methods, reason = "certificates end by the clock of the machine")]
fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.expect("after 1970").as_secs()).expect("a number")
}

#[tokio::test]
async fn another_past_than_the_stored_one_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a"]).await;
    let stored = lo.plant.events.len();
    lo.push().await;

    lo.plant.events[stored - 1].at.0 += 1;
    let events = lo.plant.events.clone();
    let batch = serde_json::json!({"incarnation": 0, "events": events});
    let answer = lo.call(Method::POST, "events", &batch.to_string()).await;

    assert_eq!(answer.status, 409);
    assert!(String::from_utf8_lossy(&answer.body).contains("/diverged"));
    hub.stop().await;
}

async fn renew(lo: &Lo, headers: &[(&str, &str)], body: &str) -> Answer {
    lo.send(Method::POST, "/colony/v1/renew", headers, body).await
}

async fn invite(hub: &Hub, replace: bool) -> String {
    let invite = Invite { replace, ..Invite::default() };
    hub.client.site_invite("home", &invite).await.expect("a token").token
}

async fn check(hub: &Hub, token: &str, replace: bool, expected: &str) {
    let refused = Lo::join(hub, token, replace).await.err().expect("it is refused");
    assert!(refused.contains(expected), "{refused}");
}
