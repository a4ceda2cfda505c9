//! Pushes to a minimal registry, and how nodes read the result.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::Registry;
use super::*;
use crate::config::Credential;
use crate::oci::credentials::CredentialStore;

#[tokio::test]
async fn nodes_read_what_was_pushed() {
    let shop = Shop::open(None).await;
    let pushed = shop.push("1.0.0", b"archive").await.expect("pushed");
    assert!(!pushed.existed);

    let registry = Registry::new(Registries::default(), None);
    let place = RegistryLocation::read(&format!("{}/apps/camera", shop.host)).expect("a place");
    let manifest = registry.manifest(&place, "1.0.0").await.expect("a manifest");
    let layer = manifest.archive().expect("one layer of the right type");
    let bytes = registry.blob(&place, layer, 100).await.expect("the archive");
    assert_eq!(bytes.as_ref(), b"archive");
}

#[tokio::test]
async fn a_revision_keeps_its_meaning() {
    let shop = Shop::open(None).await;
    let first = shop.push("1.0.0", b"archive").await.expect("pushed");
    let again = shop.push("1.0.0", b"archive").await.expect("the same");
    assert_eq!(again, Pushed { digest: first.digest, existed: true });
    let error = shop.push("1.0.0", b"other").await.expect_err("another archive");
    assert!(matches!(error, PushError::Taken { .. }), "{error}");
    assert!(error.to_string().contains("raise the revision"), "{error}");
    assert!(shop.push("1.0.1", b"other").await.is_ok());
}

#[tokio::test]
async fn image_is_pushed_with_all_its_blobs() {
    let shop = Shop::open(None).await;
    let registries = Registries::default();
    let reference = format!("{}/apps/camera:1.0", shop.host);
    let pushed = push_image(&registries, &reference, b"{}", &[b"config", b"layer"]).await;
    assert!(!pushed.expect("pushed").existed);
    let registry = Registry::new(Registries::default(), None);
    let place = RegistryLocation::read(&format!("{}/apps/camera", shop.host)).expect("a place");
    assert!(registry.manifest(&place, "1.0").await.is_ok());
    for blob in [&b"config"[..], b"layer"] {
        let text = format!(r#"{{"digest": "{}", "size": {}}}"#, Digest::of(blob), blob.len());
        let described = serde_json::from_str(&text).expect("a descriptor");
        let found = registry.blob(&place, &described, 100).await.expect("the blob");
        assert_eq!(found.as_ref(), blob);
    }
    for bad in ["hello:1.0", "registry.example/hello", "registry.example/hello:", "r:5000/x:a b"] {
        let error = push_image(&registries, bad, b"{}", &[]).await.expect_err(bad);
        assert!(matches!(error, PushError::Reference(_)), "{bad}: {error}");
    }
}

#[tokio::test]
async fn a_password_is_given_when_it_is_asked_for() {
    let shop = Shop::open(Some("Basic YW5uOnMzY3IzdA==")).await;
    let error = shop.push("1.0.0", b"archive").await.expect_err("no credential");
    assert!(matches!(error, PushError::Denied { status: 401, .. }), "{error}");
    let reason = format!("; there are no credentials for `{}`", shop.host);
    assert!(error.to_string().ends_with(&reason), "{error}");
    let user = Credential::Password { user: "ann".to_owned(), password: "s3cr3t".to_owned() };
    let credentials = CredentialStore::given(BTreeMap::from([(shop.host.clone(), user)]));
    let registries = Registries { credentials, ..Registries::default() };
    assert!(shop.push_with(&registries, "1.0.0", b"archive").await.is_ok());

    let place = RegistryLocation::read(&format!("{}/apps/camera", shop.host)).expect("a place");
    let stranger = Registry::new(Registries::default(), None);
    stranger.manifest(&place, "1.0.0").await.expect_err("no credential");
    Registry::new(registries, None).manifest(&place, "1.0.0").await.expect("it is read");
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_named() {
    let registries = Registries::default();
    let repository = "oci://127.0.0.1:1/camera".parse().expect("a repository");
    let revision = "1.0.0".parse().expect("a revision");
    let error = push_component(&registries, &repository, &revision, b"").await.expect_err("gone");
    assert!(error.to_string().starts_with("could not push `127.0.0.1:1/camera:1.0.0`"), "{error}");
}

/// A registry that stores uploads by path.
struct Shop {
    host: String,
}

type Uploads = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

impl Shop {
    async fn open(authorization: Option<&'static str>) -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let host = listener.local_addr().expect("an address").to_string();
        let shelf = Uploads::default();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shelf.clone(), authorization));
            }
        });
        Shop { host }
    }

    async fn push(&self, revision: &str, archive: &[u8]) -> Result<Pushed, PushError> {
        self.push_with(&Registries::default(), revision, archive).await
    }

    async fn push_with(
        &self,
        registries: &Registries,
        revision: &str,
        archive: &[u8],
    ) -> Result<Pushed, PushError> {
        let repository = format!("oci://{}/apps/camera", self.host).parse().expect("a repository");
        let revision = revision.parse().expect("a revision");
        push_component(registries, &repository, &revision, archive).await
    }
}

async fn serve(mut stream: TcpStream, shelf: Uploads, authorization: Option<&str>) {
    let (head, body) = read(&mut stream).await;
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let allowed = authorization.is_none_or(|it| head.contains(it));
    let (status, headers, body) = match allowed {
        true => answer(method, path, body, &mut shelf.lock().expect("a lock")),
        false => ("401 Unauthorized", "www-authenticate: Basic realm=\"x\"\r\n", Vec::new()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
    let body = if method == "HEAD" { Vec::new() } else { body };
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
}

fn answer(
    method: &str,
    path: &str,
    body: Vec<u8>,
    shelf: &mut BTreeMap<String, Vec<u8>>,
) -> (&'static str, &'static str, Vec<u8>) {
    match (method, path.split_once("/uploads/1?digest=")) {
        ("POST", _) => {
            ("202 Accepted", "location: /v2/apps/camera/blobs/uploads/1\r\n", Vec::new())
        }
        ("PUT", Some((folder, digest))) => {
            assert_eq!(Digest::of(&body).to_string(), digest);
            shelf.insert(format!("{folder}/{digest}"), body);
            ("201 Created", "", Vec::new())
        }
        ("PUT", None) => {
            shelf.insert(path.to_owned(), body);
            ("201 Created", "", Vec::new())
        }
        _ => match shelf.get(path) {
            Some(found) => ("200 OK", "", found.clone()),
            None => ("404 Not Found", "", Vec::new()),
        },
    }
}

async fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
            let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                return (head, bytes[end + 4..].to_vec());
            }
        }
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.unwrap_or(0);
        if count == 0 {
            return (String::from_utf8_lossy(&bytes).into_owned(), Vec::new());
        }
        bytes.extend_from_slice(&part[..count]);
    }
}
