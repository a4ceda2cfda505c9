//! Tokens and ids.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use colony_wfm::token::{self, TokenError};
use colony_wfm::{SpiffeId, TokenSigner};
use std::sync::OnceLock;

use crate::Outcome;

/// The text as a token; and as claims that are signed with a key of our own.
pub(super) fn token(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let signer = signer();
    let verified = token::verify(&text, &signer.public(), 0);
    assert!(verified.is_err(), "our key did not sign this: {text}");
    let forged = [input, &[0; 64]].concat();
    let forged = format!("col1_{}", URL_SAFE_NO_PAD.encode(&forged));
    assert!(token::verify(&forged, &signer.public(), 0).is_err(), "a signature of zeros counts");
    let claims = match (token::read(&text), token::read(&forged)) {
        (Ok(claims), _) | (Err(_), Ok(claims)) => claims,
        (Err(TokenError::Malformed), Err(error)) => return Outcome::refused(error),
        (Err(error), Err(_)) => panic!("a reader without a key says: {error}"),
    };
    let signed = signer.sign(&claims);
    let long = signed.len() > 4096;
    let read = token::verify(&signed, &signer.public(), i64::MIN);
    assert!(long || read.as_ref() == Ok(&claims), "signed, {claims:?} is {read:?}");
    let late = token::verify(&signed, &signer.public(), claims.expires);
    assert!(long || late == Err(TokenError::Expired { ago: 0 }), "{late:?}");
    Outcome::taken(format!("{:?} {} {long}", claims.kind, claims.replace))
}

fn signer() -> &'static TokenSigner {
    static SIGNER: OnceLock<TokenSigner> = OnceLock::new();
    SIGNER.get_or_init(|| TokenSigner::generate().expect("a key"))
}

pub(super) fn spiffe(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let id: SpiffeId = match text.parse() {
        Ok(id) => id,
        Err(error) => return Outcome::refused(error),
    };
    assert_eq!(id.to_string(), text);
    assert_eq!(format!("spiffe://{}{}", id.trust_domain(), id.path()), text);
    assert_eq!(SpiffeId::new(id.trust_domain(), id.path()), Ok(id.clone()));
    let mut roles = Vec::new();
    if let Some(site) = id.as_site_client() {
        roles.push("site");
        assert_eq!(SpiffeId::site_client(id.trust_domain(), site), Ok(id.clone()));
    }
    if let Some(wfm) = id.as_wfm() {
        roles.push("manager");
        assert_eq!(SpiffeId::wfm(id.trust_domain(), wfm), Ok(id.clone()));
    }
    if let Some((wfm, client)) = id.as_wfm_client() {
        roles.push("client");
        assert_eq!(SpiffeId::wfm_client(id.trust_domain(), wfm, client), Ok(id.clone()));
    }
    assert!(roles.len() <= 1, "{id} is {roles:?}");
    Outcome::taken(roles.concat())
}
