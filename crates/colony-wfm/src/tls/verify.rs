//! Checks of certificates in a handshake, beyond the chain.
//!
//! A client certificate must be an SVID of the server's own trust domain. A
//! server must have the id its client expects, or a chain to the pinned
//! authority.

use std::io;
use std::sync::Arc;

use colony_margo::Digest;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore,
    SignatureScheme,
};

use crate::identity::{SpiffeId, svid};

/// The anchor that the chain of a server must lead to.
#[derive(Debug)]
pub(super) enum Anchor {
    Roots { roots: RootCertStore, expect: Option<SpiffeId> },
    Pin(Digest),
}

/// Why a peer with a valid chain is refused.
#[derive(Debug, thiserror::Error)]
enum PeerRefusal {
    #[error("server is `{found}`, not `{expected}`")]
    OtherServer { expected: SpiffeId, found: SpiffeId },
    #[error("client belongs to trust domain `{found}`, not `{expected}`")]
    OtherDomain { expected: String, found: String },
    #[error("server does not present the pinned authority {0}")]
    NoPin(Digest),
    #[error(transparent)]
    Svid(#[from] crate::identity::IdentityError),
}

impl From<PeerRefusal> for Error {
    fn from(refused: PeerRefusal) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refused))))
    }
}

/// The error of a handshake with the text of our own reason: the library would
/// print it as the debug text of nested types.
pub(crate) fn plain(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
    if let Some(Error::InvalidCertificate(CertificateError::Other(refused))) = inner {
        return io::Error::new(error.kind(), refused.0.to_string());
    }
    error
}

/// Checks servers.
#[derive(Debug)]
pub(super) struct ServerVerifier {
    anchor: Anchor,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerVerifier {
    pub(super) fn new(anchor: Anchor, provider: &CryptoProvider) -> ServerVerifier {
        ServerVerifier { anchor, algorithms: provider.signature_verification_algorithms }
    }

    fn check_chain(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        roots: &RootCertStore,
        now: UnixTime,
    ) -> Result<(), Error> {
        let leaf = ParsedCertificate::try_from(leaf)?;
        let algorithms = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&leaf, roots, others, now, algorithms)
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.anchor {
            Anchor::Roots { roots, expect } => {
                self.check_chain(end_entity, intermediates, roots, now)?;
                check_server(end_entity, expect.as_ref())?;
            }
            Anchor::Pin(pin) => {
                let roots = pinned(intermediates, pin)?;
                self.check_chain(end_entity, intermediates, &roots, now)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn check_server(leaf: &CertificateDer<'_>, expect: Option<&SpiffeId>) -> Result<(), PeerRefusal> {
    let Some(expected) = expect else { return Ok(()) };
    let found = svid::id(leaf)?;
    if found != *expected {
        return Err(PeerRefusal::OtherServer { expected: expected.clone(), found });
    }
    Ok(())
}

fn pinned(sent: &[CertificateDer<'_>], pin: &Digest) -> Result<RootCertStore, Error> {
    let root = sent.iter().find(|it| Digest::of(it) == *pin).ok_or(PeerRefusal::NoPin(*pin))?;
    let mut roots = RootCertStore::empty();
    roots.add(root.clone().into_owned())?;
    Ok(roots)
}

/// Checks clients.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    chain: Arc<dyn ClientCertVerifier>,
    domain: String,
}

impl ClientVerifier {
    pub(super) fn new(chain: Arc<dyn ClientCertVerifier>, domain: &str) -> ClientVerifier {
        ClientVerifier { chain, domain: domain.to_owned() }
    }

    fn check_domain(&self, leaf: &CertificateDer<'_>) -> Result<(), PeerRefusal> {
        let found = svid::id(leaf)?.trust_domain().to_owned();
        if found != self.domain {
            return Err(PeerRefusal::OtherDomain { expected: self.domain.clone(), found });
        }
        Ok(())
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.chain.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.chain.verify_client_cert(end_entity, intermediates, now)?;
        self.check_domain(end_entity)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
