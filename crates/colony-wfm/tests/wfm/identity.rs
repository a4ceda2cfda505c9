//! Authorities, certificates and what is kept of them on disk.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use colony_wfm::{Authority, Credentials, PrivateKey, SpiffeId, tls};

use crate::support::{DAY, Site, error_text, now};

const DOMAIN: &str = "site-a.00ff";

#[test]
fn certificate_says_who_and_until_when() {
    let site = Site::new(DOMAIN);
    let node = site.node("n1");
    assert_eq!(node.id().unwrap().to_string(), "spiffe://site-a.00ff/margo/wfm/a/client/n1");
    assert_eq!(node.manager().unwrap(), site.wfm());
    let (from, until) = node.validity().unwrap();
    assert_eq!(until - from, 86_400 + 300);
    assert!(from <= now() && now() < until);
}

#[test]
fn certificate_does_not_outlive_its_authority() {
    let created = now() - 5 * 365 * 86_400 + 3600;
    let authority = Authority::create(DOMAIN, created).unwrap();
    let site = Site { authority };
    let (_, until) = site.node("n1").validity().unwrap();
    assert_eq!(until, created + 5 * 365 * 86_400);
}

#[test]
fn requests_that_prove_nothing_are_refused() {
    let csr = PrivateKey::generate().unwrap().csr().unwrap();
    check(&csr, "signed");
    check("", "refused: Could not parse certificate signing request");
    check(
        "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        "refused",
    );
    check(&"x".repeat(20_000), "refused: it has more than 16384 bytes");
    check(&other_signature(&csr), "refused: Invalid CSR signature");
    let other = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let ed25519 = rcgen::CertificateParams::default().serialize_request(&other).unwrap();
    check(&ed25519.pem().unwrap(), "signed");
}

#[test]
fn authority_signs_for_its_own_domain_only() {
    let authority = Authority::create(DOMAIN, now()).unwrap();
    let csr = PrivateKey::generate().unwrap().csr().unwrap();
    let id = SpiffeId::wfm("site-b.00ff", "b").unwrap();
    assert!(authority.sign(&csr, &id, &[], now(), DAY).is_err());
    assert!(Authority::create("Not A Domain", now()).is_err());
}

#[test]
fn hosts_are_names_or_addresses() {
    let authority = Authority::create(DOMAIN, now()).unwrap();
    let csr = PrivateKey::generate().unwrap().csr().unwrap();
    let id = SpiffeId::wfm(DOMAIN, "a").unwrap();
    let sign = |host: &str| authority.sign(&csr, &id, &[host.to_owned()], now(), DAY);
    for host in ["hub.local", "10.0.0.7", "fe80::1", "*.plant"] {
        assert!(sign(host).is_ok(), "{host}");
    }
    for host in ["", "a b", "https://hub", "hub:1", &"a".repeat(300)] {
        assert!(sign(host).is_err(), "{host}");
    }
}

#[test]
fn authority_is_kept_and_its_key_is_secret() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("central");
    assert!(Authority::load(&home).unwrap().is_none());
    let authority = Authority::create(DOMAIN, now()).unwrap();
    authority.save(&home).unwrap();
    let loaded = Authority::load(&home).unwrap().unwrap();
    assert_eq!(loaded.fingerprint(), authority.fingerprint());
    assert_eq!(loaded.trust_domain(), DOMAIN);
    assert!(loaded.fingerprint().starts_with("sha256:"));
    check_mode(&home.join("ca.key"), 0o600);
    assert!(!format!("{loaded:?}").contains("KEY"), "{loaded:?}");

    let other = PrivateKey::generate().unwrap().to_pem();
    std::fs::write(home.join("ca.key"), other).unwrap();
    let error = Authority::load(&home).unwrap_err();
    assert_eq!(error_text(&error), "private key does not belong to the certificate");
}

#[test]
fn credentials_are_kept_and_their_key_is_secret() {
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new(DOMAIN);
    let node = site.node("n1");
    assert!(Credentials::load(dir.path()).unwrap().is_none());
    node.save(dir.path()).unwrap();
    node.save(dir.path()).unwrap();
    assert_eq!(Credentials::load(dir.path()).unwrap(), Some(node.clone()));
    check_mode(&dir.path().join("svid.key"), 0o600);
    check_mode(&dir.path().join("svid.pem"), 0o644);
    assert!(!dir.path().join("svid.key.next").exists());
    let printed = format!("{node:?} {:?}", PrivateKey::from_pem(&node.key_pem).unwrap());
    let secret = node.key_pem.lines().nth(1).unwrap();
    assert!(!printed.contains(secret) && !printed.contains("PRIVATE"), "{printed}");
}

#[test]
fn crash_while_credentials_are_replaced_leaves_a_pair_that_fits() {
    let site = Site::new(DOMAIN);
    let (old, new) = (site.node("n1"), site.node("n1"));
    let key = ("svid.key.next", new.key_pem.as_str());
    let chain = ("svid.pem", new.chain_pem.as_str());
    let half = ("svid.pem.tmp", &new.chain_pem[..100]);
    check_crash(&old, &[], &old);
    check_crash(&old, &[key], &old);
    check_crash(&old, &[key, half], &old);
    check_crash(&old, &[key, chain], &new);
}

#[test]
fn credentials_that_do_not_fit_are_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new(DOMAIN);
    let mixed = site.credentials(site.node("n1").chain_pem, site.node("n1").key_pem);
    assert!(mixed.save(dir.path()).is_err());
    assert!(Credentials::load(dir.path()).unwrap().is_none());
    assert!(tls::server_config(&mixed, tls::ClientAuth::Required).is_err());

    site.node("n1").save(dir.path()).unwrap();
    for key in ["svid.key", "svid.key.next"] {
        std::fs::write(dir.path().join(key), site.node("n1").key_pem).unwrap();
    }
    let error = Credentials::load(dir.path()).unwrap_err();
    assert_eq!(error_text(&error), "private key does not belong to the certificate");
}

#[test]
fn credentials_trust_the_authority_that_signed_them() {
    let (site, other) = (Site::new(DOMAIN), Site::new(DOMAIN));
    let node = site.node("n1");
    assert!(node.trusts(&site.authority.fingerprint()));
    assert!(!node.trusts(&other.authority.fingerprint()));
}

/// Puts files as a crash would leave them and compares what is loaded.
#[track_caller]
fn check_crash(before: &Credentials, left: &[(&str, &str)], expected: &Credentials) {
    let dir = tempfile::tempdir().unwrap();
    before.save(dir.path()).unwrap();
    for (name, text) in left {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    for _ in 0..2 {
        let loaded = Credentials::load(dir.path()).unwrap().unwrap();
        assert_eq!((&loaded.chain_pem, &loaded.key_pem), (&expected.chain_pem, &expected.key_pem));
    }
    before.save(dir.path()).unwrap();
    assert_eq!(Credentials::load(dir.path()).unwrap().as_ref(), Some(before));
}

#[track_caller]
fn check(csr: &str, expected: &str) {
    let authority = Authority::create(DOMAIN, now()).unwrap();
    let id = SpiffeId::wfm_client(DOMAIN, "a", "n1").unwrap();
    let signed = authority.sign(csr, &id, &[], now(), Duration::from_secs(60));
    let result = match signed {
        Ok(_) => "signed".to_owned(),
        Err(error) => error_text(&error).replace("certificate request is ", ""),
    };
    assert!(result.starts_with(expected), "{result}");
}

/// The request with one bit of its signature turned.
fn other_signature(csr: &str) -> String {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::STANDARD;
    let lines: Vec<&str> = csr.lines().filter(|it| !it.starts_with("-----")).collect();
    let mut der = base64.decode(lines.concat()).unwrap();
    *der.last_mut().unwrap() ^= 1;
    let text = base64.encode(der);
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
}

#[track_caller]
fn check_mode(path: &Path, expected: u32) {
    let mode = std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, expected, "{}", path.display());
}
