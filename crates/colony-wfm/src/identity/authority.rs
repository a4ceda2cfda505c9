//! A certificate authority: the root of one trust domain.
//!
//! It signs SVIDs of its own domain only. It uses only the public key of a
//! request, after the request has proved that its sender holds the private key.
//! The caller decides which id a sender may have.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use colony_margo::Digest;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose, SanType, SerialNumber,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use x509_parser::time::ASN1Time;

use crate::file;
use crate::identity::key::PrivateKey;
use crate::identity::{IdentityError, SpiffeError, SpiffeId, check_domain, svid};

const CERTIFICATE_FILE: &str = "ca.pem";
const KEY_FILE: &str = "ca.key";
const YEARS_5: i64 = 5 * 365 * 24 * 3600;
/// A certificate is valid from a little before it is made, because clocks
/// differ.
const SKEW: i64 = 300;
const MAX_REQUEST: usize = 16 * 1024;
const MAX_HOSTS: usize = 64;

/// The root of a trust domain, with its key, which is not printed.
#[derive(Clone)]
pub struct Authority {
    root_pem: String,
    key_pem: String,
    trust_domain: String,
    fingerprint: Digest,
    not_after: i64,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Authority");
        shown.field("trust_domain", &self.trust_domain);
        shown.field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

impl Authority {
    /// Creates the root of a trust domain, valid for five years.
    pub fn create(trust_domain: &str, now_unix: i64) -> Result<Authority, IdentityError> {
        check_domain(trust_domain)?;
        let key = PrivateKey::generate()?;
        let root = root_params(trust_domain, now_unix)?.self_signed(key.pair());
        let root = root.map_err(|source| failed("make a root certificate", source))?;
        Authority::from_pem(root.pem(), key.to_pem())
    }

    /// Reads the authority kept in `dir`, if there is one.
    pub fn load(dir: &Path) -> Result<Option<Authority>, IdentityError> {
        let Some(root) = file::read(&dir.join(CERTIFICATE_FILE))? else { return Ok(None) };
        let key = file::read(&dir.join(KEY_FILE))?.ok_or(IdentityError::Key)?;
        Authority::from_pem(root, key).map(Some)
    }

    /// Keeps the authority in `dir`, its key for the owner only.
    pub fn save(&self, dir: &Path) -> Result<(), IdentityError> {
        // The certificate comes last: without it there is no authority.
        file::write_secret(&dir.join(KEY_FILE), &self.key_pem)?;
        file::write(&dir.join(CERTIFICATE_FILE), &self.root_pem)
    }

    fn from_pem(root_pem: String, key_pem: String) -> Result<Authority, IdentityError> {
        let der = svid::leaf(&root_pem)?;
        if svid::public_key(&der)? != PrivateKey::from_pem(&key_pem)?.public() {
            return Err(IdentityError::KeyMismatch);
        }
        let trust_domain = svid::root_domain(&der)?;
        let (_, not_after) = svid::validity(&der)?;
        let fingerprint = Digest::of(&der);
        Ok(Authority { root_pem, key_pem, trust_domain, fingerprint, not_after })
    }

    /// The root certificate.
    pub fn root_pem(&self) -> &str {
        &self.root_pem
    }

    /// The trust domain.
    pub fn trust_domain(&self) -> &str {
        &self.trust_domain
    }

    /// The SHA-256 of the root certificate, `sha256:<hex>`.
    pub fn fingerprint(&self) -> String {
        self.fingerprint.to_string()
    }

    /// Signs a request and returns the certificate followed by the root. Only
    /// servers have `hosts`, and only a server's certificate can be used to
    /// serve.
    pub fn sign(
        &self,
        csr_pem: &str,
        id: &SpiffeId,
        hosts: &[String],
        now_unix: i64,
        lifetime: Duration,
    ) -> Result<String, IdentityError> {
        if id.trust_domain() != self.trust_domain {
            return Err(SpiffeError::TrustDomain(id.trust_domain().to_owned()).into());
        }
        let mut request = read_request(csr_pem)?;
        let lifetime = i64::try_from(lifetime.as_secs()).unwrap_or(YEARS_5);
        let until = now_unix.saturating_add(lifetime).min(self.not_after);
        request.params = svid_params(id, hosts, now_unix, until)?;
        let signed = request.signed_by(&self.issuer()?);
        let signed = signed.map_err(|source| failed("sign a certificate", source))?;
        Ok(format!("{}{}", signed.pem(), self.root_pem))
    }

    fn issuer(&self) -> Result<Issuer<'static, rcgen::KeyPair>, IdentityError> {
        let key = rcgen::KeyPair::from_pem(&self.key_pem).map_err(|_| IdentityError::Key)?;
        let issuer = Issuer::from_ca_cert_pem(&self.root_pem, key);
        issuer.map_err(|source| failed("read the root certificate", source))
    }
}

fn root_params(domain: &str, now_unix: i64) -> Result<CertificateParams, IdentityError> {
    let mut params = params(&format!("colony {domain}"), now_unix, now_unix + YEARS_5)?;
    params.subject_alt_names = vec![uri(&format!("spiffe://{domain}"))?];
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn svid_params(
    id: &SpiffeId,
    hosts: &[String],
    from: i64,
    until: i64,
) -> Result<CertificateParams, IdentityError> {
    if hosts.len() > MAX_HOSTS {
        return Err(IdentityError::Request(format!("it has more than {MAX_HOSTS} hosts")));
    }
    let name = id.path().rsplit('/').next().unwrap_or_default();
    let mut params = params(name, from, until)?;
    params.subject_alt_names = vec![uri(id.as_str())?];
    for it in hosts {
        params.subject_alt_names.push(host(it)?);
    }
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    // A member with a server certificate could impersonate its manager to a
    // client that knows only the root: a joining node, or an operator.
    if !hosts.is_empty() || id.is_server() {
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
    }
    Ok(params)
}

fn params(name: &str, from: i64, until: i64) -> Result<CertificateParams, IdentityError> {
    let mut params = CertificateParams::default();
    params.not_before = time(from.saturating_sub(SKEW))?.to_datetime();
    params.not_after = time(until)?.to_datetime();
    params.serial_number = Some(serial()?);
    params.distinguished_name = DistinguishedName::new();
    let name: String = name.chars().take(64).collect();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn time(unix: i64) -> Result<ASN1Time, IdentityError> {
    ASN1Time::from_timestamp(unix).map_err(|_| {
        IdentityError::Request(format!("{unix} is not a valid time for a certificate"))
    })
}

fn serial() -> Result<SerialNumber, IdentityError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| IdentityError::Key)?;
    // Positive and of full length.
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

fn uri(text: &str) -> Result<SanType, IdentityError> {
    let text = text.try_into().map_err(|source| failed("write a SPIFFE id", source))?;
    Ok(SanType::URI(text))
}

fn host(text: &str) -> Result<SanType, IdentityError> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_*".contains(c);
    if text.is_empty() || text.len() > 253 || !text.chars().all(allowed) {
        return Err(IdentityError::Request(format!("`{text:.64}` is not a host name")));
    }
    let text = text.try_into().map_err(|source| failed("write a host name", source))?;
    Ok(SanType::DnsName(text))
}

/// The digest of the public key in a request, after the request has proved that
/// its sender holds the private key.
pub fn requested_key(csr_pem: &str) -> Result<Digest, IdentityError> {
    let request = read_request(csr_pem)?;
    Ok(Digest::of(&rcgen::PublicKeyData::subject_public_key_info(&request.public_key)))
}

/// Reads a request whose signature is right and whose key has an algorithm and
/// size that Margo allows.
fn read_request(pem: &str) -> Result<CertificateSigningRequestParams, IdentityError> {
    if pem.len() > MAX_REQUEST {
        return Err(IdentityError::Request(format!("it has more than {MAX_REQUEST} bytes")));
    }
    let request = CertificateSigningRequestParams::from_pem(pem)
        .map_err(|error| IdentityError::Request(error.to_string()))?;
    let length = rcgen::PublicKeyData::der_bytes(&request.public_key).len();
    let algorithm = request.public_key.algorithm();
    let allowed = [
        (&rcgen::PKCS_ECDSA_P256_SHA256, 65),
        (&rcgen::PKCS_ECDSA_P384_SHA384, 97),
        (&rcgen::PKCS_ED25519, 32),
    ];
    if !allowed.contains(&(algorithm, length)) {
        return Err(IdentityError::Request("its key is not ECDSA P-256, P-384 or Ed25519".into()));
    }
    Ok(request)
}

fn failed(doing: &'static str, source: rcgen::Error) -> IdentityError {
    IdentityError::Crypto { doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_are_positive_and_of_full_length() {
        for _ in 0..64 {
            let bytes = serial().unwrap().to_bytes();
            assert_eq!((bytes.len(), bytes[0] & 0xc0), (16, 0x40), "{bytes:?}");
        }
    }

    #[test]
    fn a_host_name_has_at_most_253_bytes() {
        assert!(host(&"a".repeat(253)).is_ok());
        assert!(host(&"a".repeat(254)).is_err());
    }

    #[test]
    fn a_certificate_names_at_most_64_hosts() {
        let id = SpiffeId::wfm("d", "a").unwrap();
        let named = |count| svid_params(&id, &vec!["hub".to_owned(); count], 0, 1);
        assert!(named(MAX_HOSTS).is_ok());
        assert!(named(MAX_HOSTS + 1).is_err());
    }

    #[test]
    fn a_request_has_at_most_16_kib() {
        let csr = PrivateKey::generate().unwrap().csr().unwrap();
        let padded = |size: usize| format!("{csr}{}", "\n".repeat(size - csr.len()));
        assert!(read_request(&padded(MAX_REQUEST)).is_ok());
        assert!(read_request(&padded(MAX_REQUEST + 1)).is_err());
    }
}
