//! The application that comes with colony: `hello`, in three versions.
//!
//! The first two are healthy; 1.2-bad answers every request with 500, so that
//! its health check never passes. The binary contains everything a registry
//! would serve of them: `packages` are the Margo descriptions for the catalog,
//! `manifest` and `blob` answer like a read-only OCI registry for the reserved
//! host `colony.builtin`: image, compose archive and Helm chart. Nothing has to
//! be downloaded to try colony. A cluster cannot read from that host: its image
//! has to be in a registry of the cluster, where [`image`] can be pushed.

mod shelf;

use shelf::Release;

pub use shelf::Image;

/// The reserved host in image and repository names.
pub const HOST: &str = "colony.builtin";

const RELEASES: [Release; 3] = [
    Release {
        version: "1.0",
        revision: "1.0.0",
        broken: false,
        archive: include_bytes!(concat!(env!("OUT_DIR"), "/archive0")),
        archive_digest: include_str!(concat!(env!("OUT_DIR"), "/archive0.digest")),
        chart: include_bytes!(concat!(env!("OUT_DIR"), "/chart0")),
        chart_digest: include_str!(concat!(env!("OUT_DIR"), "/chart0.digest")),
    },
    Release {
        version: "1.1",
        revision: "1.1.0",
        broken: false,
        archive: include_bytes!(concat!(env!("OUT_DIR"), "/archive1")),
        archive_digest: include_str!(concat!(env!("OUT_DIR"), "/archive1.digest")),
        chart: include_bytes!(concat!(env!("OUT_DIR"), "/chart1")),
        chart_digest: include_str!(concat!(env!("OUT_DIR"), "/chart1.digest")),
    },
    Release {
        version: "1.2-bad",
        revision: "1.2.0-bad",
        broken: true,
        archive: include_bytes!(concat!(env!("OUT_DIR"), "/archive2")),
        archive_digest: include_str!(concat!(env!("OUT_DIR"), "/archive2.digest")),
        chart: include_bytes!(concat!(env!("OUT_DIR"), "/chart2")),
        chart_digest: include_str!(concat!(env!("OUT_DIR"), "/chart2.digest")),
    },
];

/// The versions of `hello`, each with its description (`margo.yaml`).
pub fn packages() -> Vec<(&'static str, String)> {
    RELEASES.iter().map(|it| (it.version, it.description())).collect()
}

/// The manifest of a repository by tag or digest, with its media type.
pub fn manifest(repository: &str, reference: &str) -> Option<(String, Vec<u8>)> {
    let found = RELEASES.iter().filter_map(|it| it.manifest(repository));
    let named = found.into_iter().find(|it| it.tag == reference || it.digest() == reference)?;
    Some((shelf::MANIFEST.to_owned(), named.bytes))
}

/// A blob of a repository.
pub fn blob(repository: &str, digest: &str) -> Option<Vec<u8>> {
    RELEASES.iter().find_map(|it| it.blob(repository, digest))
}

/// The image of the server, to be pushed to a registry. One serves all
/// versions, as the chart says which version it is.
pub fn image() -> Image {
    RELEASES[0].whole_image()
}

#[cfg(test)]
mod tests {
    use colony_margo::{ApplicationDescription, Digest};
    use serde_json::Value;

    use super::*;

    #[test]
    fn descriptions_are_valid() {
        for (version, text) in packages() {
            let parsed = ApplicationDescription::parse(text.as_bytes());
            let description = parsed.unwrap_or_else(|it| panic!("{version}: {it:?}")).value;
            assert_eq!(description.metadata.version, version);
        }
    }

    #[test]
    fn a_description_leads_to_blobs_with_the_digests_it_names() {
        for (_, text) in packages() {
            let parsed = ApplicationDescription::parse(text.as_bytes()).expect("it is valid");
            for (profile, kind, name) in [(0, "compose", "hello"), (1, "helm", "hello-chart")] {
                let profile = &parsed.value.profiles[profile];
                assert_eq!(profile.kind, kind);
                let component = &profile.components[0];
                let repository = component.properties.repository.to_string();
                assert_eq!(repository, format!("oci://colony.builtin/{name}"));
                check(name, component.properties.revision.as_ref());
            }
        }
    }

    #[test]
    fn image_to_push_is_the_one_that_is_served() {
        let image = image();
        let (_, served) = manifest("hello-server", "1.0").expect("the manifest is there");
        assert_eq!(image.manifest, served);
        let digests = image.blobs.iter().map(|it| Digest::of(it).to_string());
        let known: Vec<Option<Vec<u8>>> = digests.map(|it| blob("hello-server", &it)).collect();
        assert_eq!(known, image.blobs.map(Some));
    }

    #[test]
    fn images_are_served_whole() {
        check("hello-server", "1.0");
        check("hello-server", "1.1");
        check("hello-server", "1.2-bad");
    }

    #[test]
    fn what_is_not_there_is_not_served() {
        assert!(manifest("hello", "9.9.9").is_none());
        assert!(manifest("other", "1.0.0").is_none());
        assert!(blob("hello", "sha256:00").is_none());
    }

    #[track_caller]
    fn check(repository: &str, tag: &str) {
        let (_, bytes) = manifest(repository, tag).expect("the manifest is there");
        let digest = Digest::of(&bytes).to_string();
        assert_eq!(manifest(repository, &digest).expect("by digest too").1, bytes);
        let manifest: Value = serde_json::from_slice(&bytes).expect("JSON");
        let layers = manifest["layers"].as_array().expect("layers");
        for part in layers.iter().chain([&manifest["config"]]) {
            let digest = part["digest"].as_str().expect("a digest");
            let bytes = blob(repository, digest).expect("the blob is there");
            assert_eq!(Digest::of(&bytes).to_string(), digest);
            assert_eq!(part["size"], bytes.len());
        }
    }
}
