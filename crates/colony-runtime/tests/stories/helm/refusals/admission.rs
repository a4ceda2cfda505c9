//! Webhooks of a cluster that decide what may be installed.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use colony_core::code::{Class, Code};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::super::World;
use super::pods::{fails_if, said};
use super::refused;

pub(crate) async fn webhook_that_refuses(world: &World) {
    let (address, authority) = serve(world.cluster.host_ip()).await;
    register(world, "refuses", "deployments", &address, &authority);
    let app = world.app_in("refuses", "refused", "1.0.0", "");
    world.prepare(&app).await.unwrap();
    let failure = world.start(&app).await.unwrap_err();
    let words =
        "admission webhook \"refuses.example.com\" denied the request: images need a digest";
    refused(&failure, Code::InvalidConfig, Class::Revision, words);
    world.remove(&app).await;

    register(world, "refuses", "pods", &address, &authority);
    let app = world.app_in("refuses", "podless", "1.0.0", "");
    let found = fails_if(world, &app, "deployment/podless-web", |_| true).await;
    said(&found, Code::InvalidConfig, Class::Revision, words);
    world.remove(&app).await;
    unregister(world, "refuses");
}

pub(crate) async fn webhook_that_is_away(world: &World) {
    let address = format!("{}:1", world.cluster.host_ip());
    register(world, "away", "deployments", &address, b"");
    let app = world.app_in("away", "unasked", "1.0.0", "");
    world.prepare(&app).await.unwrap();
    let failure = world.start(&app).await.unwrap_err();
    let words = "failed calling webhook \"away.example.com\"";
    refused(&failure, Code::EngineError, Class::Environment, words);

    register(world, "away", "pods", &address, b"");
    let found = fails_if(world, &app, "deployment/unasked-web", |_| true).await;
    said(&found, Code::EngineError, Class::Environment, words);
    unregister(world, "away");
    world.until_healthy(&app).await;
    world.remove(&app).await;
}

/// Asks the server at `address` about resources in the namespace `name`.
fn register(world: &World, name: &str, resource: &str, address: &str, authority: &[u8]) {
    let group = if resource == "pods" { "" } else { "apps" };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"asks": name}}});
    let mut client = json!({"url": format!("https://{address}/")});
    if !authority.is_empty() {
        client["caBundle"] = json!(STANDARD.encode(authority));
    }
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": format!("{name}.example.com"),
            "clientConfig": client,
            "rules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}],
            "namespaceSelector": {"matchLabels": {"asks": name}},
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "failurePolicy": "Fail",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let both = json!({"apiVersion": "v1", "kind": "List", "items": [namespace, webhook]});
    world.cluster.apply(&both.to_string());
}

fn unregister(world: &World, name: &str) {
    world.cluster.kubectl(&["delete", "validatingwebhookconfiguration", name]);
}

/// A webhook that refuses everything: its address and its certificate.
async fn serve(ip: &str) -> (String, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let (key, certificate) = (dir.path().join("key"), dir.path().join("certificate"));
    let mut openssl = std::process::Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-nodes", "-days", "2", "-subj", "/CN=webhook", "-addext"]);
    openssl.arg(format!("subjectAltName=IP:{ip}"));
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    let made = openssl.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let pem = std::fs::read(&certificate).unwrap();
    let provider = tokio_rustls::rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(&pem).unwrap()],
            PrivateKeyDer::from_pem_file(&key).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((ip, 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let _ = refuse(stream).await;
            });
        }
    });
    (address, pem)
}

async fn refuse(
    mut stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let review = loop {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").map(|it| serde_json::from_str::<Value>(it.1));
        if let Some(Ok(review)) = body {
            break review;
        }
    };
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": false,
            "status": {"message": "images need a digest"},
        },
    });
    let answer = answer.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
    let text = format!("{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}
