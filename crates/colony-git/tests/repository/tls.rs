//! Certificates of a fleet.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// A certificate authority with a server and a client.
pub(crate) struct Fleet {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Fleet {
    pub(crate) fn new() -> Fleet {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
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

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(self.roots(), provider.clone());
        let (certificate, key) = self.leaf("127.0.0.1");
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(clients.build().expect("a verifier"))
            .with_single_cert(vec![certificate], key)
            .expect("a certificate");
        TlsAcceptor::from(Arc::new(config))
    }

    pub(crate) fn client(&self, known: bool) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(self.roots());
        let (certificate, key) = self.leaf("site");
        Arc::new(match known {
            true => config.with_client_auth_cert(vec![certificate], key).expect("a certificate"),
            false => config.with_no_client_auth(),
        })
    }
}
