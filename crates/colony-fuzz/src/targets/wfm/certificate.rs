//! Certificates and requests for them.

use std::sync::OnceLock;
use std::time::Duration;

use colony_wfm::{Authority, IdentityError, SpiffeId, fuzz};

use crate::Outcome;

const NOW: i64 = 1_800_000_000;

/// PEM, or the bytes of one certificate.
pub(super) fn certificate(input: &[u8]) -> Outcome {
    let pem = fuzz::certificates(&String::from_utf8_lossy(input));
    let found = match pem {
        Ok(found) => {
            assert!((1..=16).contains(&found.len()), "{} certificates", found.len());
            found
        }
        Err(_) => vec![input.to_vec()],
    };
    let read: Vec<String> = found.iter().map(|it| one(it)).collect();
    Outcome::taken(read.join("|"))
}

fn one(der: &[u8]) -> String {
    if let Ok((from, until)) = fuzz::validity(der) {
        assert!(fuzz::public_key(der).is_ok(), "{from}..{until}, without a key");
    }
    let root = fuzz::root_domain(der);
    match fuzz::id(der) {
        Ok(id) => {
            assert!(root.is_err(), "{id} is a member and a root");
            format!("member {}", id.path().len() > 20)
        }
        Err(IdentityError::Certificate(why)) => format!("{} {}", root.is_ok(), shorten(&why)),
        Err(error) => format!("{} {error}", root.is_ok()),
    }
}

fn shorten(text: &str) -> String {
    text.chars().filter(|it| it.is_alphabetic()).take(60).collect()
}

/// The certificate has the identity we chose, whatever the request says.
pub(super) fn request(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let authority = authority();
    let id = SpiffeId::wfm_client("site-a.1f", "a", "n-1").expect("an id");
    let signed = authority.sign(&text, &id, &[], NOW, Duration::from_secs(3600));
    let chain = match signed {
        Ok(chain) => chain,
        Err(error) => return Outcome::refused(error),
    };
    let certificates = fuzz::certificates(&chain).expect("we sign certificates");
    assert_eq!(certificates.len(), 2);
    assert_eq!(fuzz::id(&certificates[0]).expect("an identity"), id, "signed for another id");
    let (from, until) = fuzz::validity(&certificates[0]).expect("a validity");
    assert!(from <= NOW && until == NOW + 3600, "valid from {from} until {until}");
    assert_eq!(fuzz::root_domain(&certificates[1]).expect("a root"), "site-a.1f");
    Outcome::taken("signed")
}

fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::create("site-a.1f", NOW).expect("an authority"))
}
