//! The content of the read-only registry for one release.

use serde_json::{Value, json};

use colony_margo::Digest;

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const LAYER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/layer"));
const LAYER_DIGEST: &str = include_str!(concat!(env!("OUT_DIR"), "/layer.digest"));
const ARTIFACT: &str = "hello";
const CHART: &str = "hello-chart";
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
    /// The Helm chart.
    pub(crate) chart: &'static [u8],
    pub(crate) chart_digest: &'static str,
}

/// An image with all that a registry needs of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub manifest: Vec<u8>,
    /// Its configuration and its layer.
    pub blobs: [Vec<u8>; 2],
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
            CHART => (self.revision, self.chart()),
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
            CHART if digest == self.chart_digest => Some(self.chart.to_vec()),
            CHART if known(&self.chart_config()) => Some(self.chart_config()),
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

    /// As `helm push` writes it.
    fn chart(&self) -> Value {
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": described("application/vnd.cncf.helm.config.v1+json", &self.chart_config()),
            "layers": [{
                "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
                "digest": self.chart_digest,
                "size": self.chart.len(),
            }],
        })
    }

    fn chart_config(&self) -> Vec<u8> {
        let config = json!({
            "apiVersion": "v2",
            "name": "hello",
            "type": "application",
            "version": self.revision,
            "appVersion": self.version,
        });
        config.to_string().into_bytes()
    }

    pub(crate) fn whole_image(&self) -> Image {
        let manifest = self.image().to_string().into_bytes();
        Image { manifest, blobs: [self.config(), LAYER.to_vec()] }
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
