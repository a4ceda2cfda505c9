//! The content of the read-only registry for one release.

use serde_json::{Value, json};

use colony_margo::Digest;

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const LAYER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/layer"));
const LAYER_DIGEST: &str = include_str!(concat!(env!("OUT_DIR"), "/layer.digest"));
const ARTIFACT: &str = "hello";
const IMAGE: &str = "hello-server";
const EMPTY: &[u8] = b"{}";

/// One version of `hello`.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    pub(crate) revision: &'static str,
    pub(crate) broken: bool,
    /// The compose archive.
    pub(crate) archive: &'static [u8],
    pub(crate) archive_digest: &'static str,
}

/// A manifest and the tag it is found by.
pub(crate) struct Tagged {
    pub(crate) tag: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Tagged {
    pub(crate) fn digest(&self) -> String {
        Digest::of(&self.bytes).to_string()
    }
}

impl Release {
    pub(crate) fn description(&self) -> String {
        include_str!("../hello/margo.yaml")
            .replace("@VERSION@", self.version)
            .replace("@REVISION@", self.revision)
            .replace("@ARCHITECTURE@", architecture())
    }

    pub(crate) fn manifest(&self, repository: &str) -> Option<Tagged> {
        let (tag, value) = match repository {
            ARTIFACT => (self.revision, self.artifact()),
            IMAGE => (self.version, self.image()),
            _ => return None,
        };
        Some(Tagged { tag, bytes: value.to_string().into_bytes() })
    }

    pub(crate) fn blob(&self, repository: &str, digest: &str) -> Option<Vec<u8>> {
        let known = |bytes: &[u8]| Digest::of(bytes).to_string() == digest;
        let config = self.config();
        match repository {
            ARTIFACT if digest == self.archive_digest => Some(self.archive.to_vec()),
            ARTIFACT if known(EMPTY) => Some(EMPTY.to_vec()),
            IMAGE if digest == LAYER_DIGEST => Some(LAYER.to_vec()),
            IMAGE if known(&config) => Some(config),
            _ => None,
        }
    }

    fn artifact(&self) -> Value {
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": "application/vnd.org.margo.component.compose+json",
            "config": described("application/vnd.oci.empty.v1+json", EMPTY),
            "layers": [{
                "mediaType": "application/vnd.org.margo.component.compose.tar+gzip",
                "digest": self.archive_digest,
                "size": self.archive.len(),
                "annotations": {
                    "org.margo.component.type": "compose",
                    "org.margo.component.version": self.revision,
                    "org.opencontainers.image.title": "hello",
                },
            }],
        })
    }

    fn image(&self) -> Value {
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": described("application/vnd.oci.image.config.v1+json", &self.config()),
            "layers": [{
                "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                "digest": LAYER_DIGEST,
                "size": LAYER.len(),
            }],
        })
    }

    fn config(&self) -> Vec<u8> {
        let mut environment = vec![format!("HELLO_VERSION={}", self.version)];
        if self.broken {
            environment.push("HELLO_BROKEN=1".to_owned());
        }
        let config = json!({
            "architecture": architecture(),
            "os": "linux",
            "config": { "Env": environment, "Entrypoint": ["/hello"] },
            "rootfs": { "type": "layers", "diff_ids": [env!("HELLO_DIFF_ID")] },
        });
        config.to_string().into_bytes()
    }
}

fn described(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": Digest::of(bytes), "size": bytes.len() })
}

/// The Margo and OCI name of the architecture of this build.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
