//! Certificates of a fleet.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use rustls::client::WantsClientCert;
use rustls::pki_types::{CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// A certificate authority with a server and a client.
pub(crate) struct Fleet {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Fleet {
    pub(crate) fn new() -> Fleet {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Fleet { issuer: CertifiedIssuer::self_signed(params, key).expect("a CA") }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("a root");
        Arc::new(roots)
    }

    fn leaf(
        &self,
        name: &str,
    ) -> (rustls::pki_types::CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        (certificate.der().clone(), PrivateKeyDer::from(key))
    }

    /// The authority, as people hand it around.
    pub(crate) fn ca(&self) -> String {
        self.issuer.pem()
    }

    /// A server that lets everybody in who knows the password.
    pub(crate) fn open_acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (certificate, key) = self.leaf("127.0.0.1");
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a certificate");
        TlsAcceptor::from(Arc::new(config))
    }

    /// A server that lets in who has a certificate of the fleet.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor_without(&[])
    }

    /// The same, but the certificates with these numbers are revoked.
    pub(crate) fn acceptor_without(&self, revoked: &[u64]) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(self.roots(), provider.clone())
            .with_crls([self.revocation(revoked)]);
        let (certificate, key) = self.leaf("127.0.0.1");
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(clients.build().expect("a verifier"))
            .with_single_cert(vec![certificate], key)
            .expect("a certificate");
        TlsAcceptor::from(Arc::new(config))
    }

    fn revocation(&self, numbers: &[u64]) -> CertificateRevocationListDer<'static> {
        let revoked = |number: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*number),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: Some(RevocationReason::Superseded),
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: numbers.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer).expect("a list").der().clone()
    }

    /// What a site with the certificate of this number comes with.
    pub(crate) fn numbered_client(&self, number: u64) -> Arc<ClientConfig> {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["site".to_owned()]).expect("a name");
        params.serial_number = Some(SerialNumber::from(number));
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config =
            self.client_builder().with_client_auth_cert(vec![certificate.der().clone()], key);
        Arc::new(config.expect("a certificate"))
    }

    fn client_builder(&self) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(self.roots())
    }

    pub(crate) fn client(&self, known: bool) -> Arc<ClientConfig> {
        let config = self.client_builder();
        let (certificate, key) = self.leaf("site");
        Arc::new(match known {
            true => config.with_client_auth_cert(vec![certificate], key).expect("a certificate"),
            false => config.with_no_client_auth(),
        })
    }
}
