//! Reads certificates: X.509-SVIDs and the roots that sign them.
//!
//! An SVID contains exactly one URI, which is its SPIFFE id, and cannot sign
//! certificates. Whether a chain is valid is checked in the handshake.

#[cfg(feature = "server")]
use colony_margo::Digest;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use crate::identity::{IdentityError, SpiffeId, check_domain};

const MAX_CERTIFICATES: usize = 16;

/// The certificates of a PEM text; at least one.
pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(pem.as_bytes()).take(MAX_CERTIFICATES + 1).collect();
    let found = found.map_err(|error| unusable(format!("PEM is broken: {error}")))?;
    match found.len() {
        0 => Err(unusable("PEM holds no certificate")),
        1..=MAX_CERTIFICATES => Ok(found),
        _ => Err(unusable(format!("PEM holds more than {MAX_CERTIFICATES} certificates"))),
    }
}

/// The first certificate of a PEM text.
pub(crate) fn leaf(pem: &str) -> Result<CertificateDer<'static>, IdentityError> {
    certificates(pem)?.into_iter().next().ok_or_else(|| unusable("PEM holds no certificate"))
}

/// The id of an SVID.
pub(crate) fn id(der: &[u8]) -> Result<SpiffeId, IdentityError> {
    let certificate = parse(der)?;
    if certificate.is_ca() || may_sign(&certificate)? {
        return Err(unusable("it may sign certificates, which an SVID must not"));
    }
    Ok(uri(&certificate)?.parse()?)
}

/// The trust domain of a root made by colony.
pub(crate) fn root_domain(der: &[u8]) -> Result<String, IdentityError> {
    let certificate = parse(der)?;
    let uri = uri(&certificate)?;
    let domain = uri.strip_prefix("spiffe://").unwrap_or_default();
    check_domain(domain)?;
    Ok(domain.to_owned())
}

/// From when until when a certificate is valid, in unix seconds.
pub(crate) fn validity(der: &[u8]) -> Result<(i64, i64), IdentityError> {
    let certificate = parse(der)?;
    let validity = certificate.validity();
    Ok((validity.not_before.timestamp(), validity.not_after.timestamp()))
}

/// The public key in a certificate, as it was signed.
pub(crate) fn public_key(der: &[u8]) -> Result<Vec<u8>, IdentityError> {
    Ok(parse(der)?.public_key().subject_public_key.data.to_vec())
}

/// The digest of the public key in a certificate; `requested_key` computes the
/// same for a request.
#[cfg(feature = "server")]
pub(crate) fn key(der: &[u8]) -> Result<Digest, IdentityError> {
    Ok(Digest::of(parse(der)?.public_key().raw))
}

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, IdentityError> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err(unusable("bytes follow it")),
        Err(error) => Err(unusable(format!("it is malformed: {error}"))),
    }
}

fn may_sign(certificate: &X509Certificate<'_>) -> Result<bool, IdentityError> {
    let usage = certificate.key_usage().map_err(|error| unusable(error.to_string()))?;
    Ok(usage.is_some_and(|it| it.value.key_cert_sign() || it.value.crl_sign()))
}

fn uri<'a>(certificate: &'a X509Certificate<'_>) -> Result<&'a str, IdentityError> {
    let names = certificate.subject_alternative_name();
    let names = names.map_err(|error| unusable(error.to_string()))?;
    let names = names.map(|it| it.value.general_names.as_slice()).unwrap_or_default();
    let uris: Vec<&str> = names.iter().filter_map(as_uri).collect();
    match uris.as_slice() {
        [uri] => Ok(uri),
        _ => Err(unusable(format!("it has {} URI names; an SVID has one", uris.len()))),
    }
}

fn as_uri<'a>(name: &GeneralName<'a>) -> Option<&'a str> {
    if let GeneralName::URI(uri) = name { Some(uri) } else { None }
}

fn unusable(reason: impl Into<String>) -> IdentityError {
    IdentityError::Certificate(reason.into())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, KeyUsagePurpose, SanType};

    use super::*;

    #[test]
    fn a_text_holds_at_most_16_certificates() {
        let pem = certificate(&[]).pem();
        assert_eq!(certificates(&pem.repeat(16)).unwrap().len(), 16);
        let error = certificates("").unwrap_err().to_string();
        assert!(error.ends_with("PEM holds no certificate"), "{error}");
        let error = certificates(&pem.repeat(17)).unwrap_err().to_string();
        assert!(error.ends_with("PEM holds more than 16 certificates"), "{error}");
    }

    #[test]
    fn who_may_sign_anything_is_not_believed() {
        check(&[KeyUsagePurpose::DigitalSignature], true);
        check(&[KeyUsagePurpose::KeyCertSign], false);
        check(&[KeyUsagePurpose::CrlSign], false);
    }

    #[track_caller]
    fn check(usages: &[KeyUsagePurpose], expected: bool) {
        assert_eq!(id(certificate(usages).der()).is_ok(), expected, "{usages:?}");
    }

    fn certificate(usages: &[KeyUsagePurpose]) -> rcgen::Certificate {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI("spiffe://d/a".try_into().unwrap())];
        params.key_usages = usages.to_vec();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap()
    }
}
