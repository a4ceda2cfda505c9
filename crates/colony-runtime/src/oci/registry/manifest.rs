//! OCI manifests: what an artifact or an image consists of.

use colony_core::margo::Digest;
use serde::Deserialize;

/// An image, an artifact, or a list of images for several platforms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Option<Descriptor>,
    pub(crate) media_type: Option<String>,
    #[serde(default)]
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default)]
    pub(crate) manifests: Vec<Descriptor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) platform: Option<Platform>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Platform {
    pub(crate) architecture: String,
    pub(crate) os: String,
    pub(crate) variant: Option<String>,
}

pub(super) const COMPONENT: &str = "application/vnd.org.margo.component.compose+json";
pub(super) const ARCHIVE: &str = "application/vnd.org.margo.component.compose.tar+gzip";

#[cfg(feature = "kubernetes")]
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

impl Manifest {
    pub(crate) fn read(bytes: &[u8]) -> Result<Manifest, String> {
        serde_json::from_slice(bytes).map_err(|it| format!("is not understood: {it}"))
    }

    /// The one layer of a component, as Margo requires it.
    pub(crate) fn archive(&self) -> Result<&Descriptor, String> {
        if let Some(other) = self.artifact_type.as_deref().filter(|it| *it != COMPONENT) {
            return Err(format!("has the artifact type `{other}`; expected `{COMPONENT}`"));
        }
        match self.layers.as_slice() {
            [layer] if layer.media_type == ARCHIVE => Ok(layer),
            [layer] => {
                let found = &layer.media_type;
                Err(format!("has a layer of the type `{found}`; expected `{ARCHIVE}`"))
            }
            layers => Err(format!("has {} layers; expected one", layers.len())),
        }
    }

    /// The layer of a Helm chart that holds the chart.
    #[cfg(feature = "kubernetes")]
    pub(crate) fn chart(&self) -> Result<&Descriptor, String> {
        let found = self.layers.iter().find(|it| it.media_type == CHART);
        found.ok_or_else(|| format!("is not a Helm chart: it has no layer of the type `{CHART}`"))
    }

    /// In a list of images, the one for a Linux machine of this architecture,
    /// or for a platform (`os/architecture[/variant]`).
    pub(crate) fn image_for(&self, platform: &str) -> Option<&Descriptor> {
        let mut parts = platform.split('/');
        let (os, architecture) = match (parts.next(), parts.next()) {
            (Some(os), Some(architecture)) => (os, architecture),
            (_, None) | (None, _) => ("linux", platform),
        };
        let variant = parts.next();
        let fits = |it: &Platform| {
            let is_variant = variant.is_none_or(|wanted| it.variant.as_deref() == Some(wanted));
            it.os == os && it.architecture == architecture && is_variant
        };
        self.manifests.iter().find(|it| it.platform.as_ref().is_some_and(fits))
    }
}

/// The OCI name of the architecture that an engine reports.
pub(crate) fn oci_architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "armv7l" | "armv6l" | "armhf" => "arm",
        "i386" | "i686" | "x86" => "386",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_has_one_layer_of_its_type() {
        check(Some(COMPONENT), &[ARCHIVE], None);
        check(None, &[ARCHIVE], None);
        check(Some("x/y"), &[ARCHIVE], Some("has the artifact type `x/y`"));
        check(Some(COMPONENT), &["x/z"], Some("has a layer of the type `x/z`"));
        check(Some(COMPONENT), &[], Some("has 0 layers"));
        check(Some(COMPONENT), &[ARCHIVE, ARCHIVE], Some("has 2 layers"));
    }

    #[test]
    fn an_image_is_for_linux_and_the_architecture() {
        let image = |os: &str, architecture: &str| Descriptor {
            media_type: String::new(),
            digest: Digest::of(format!("{os} {architecture}").as_bytes()),
            size: 1,
            platform: Some(Platform {
                architecture: architecture.into(),
                os: os.into(),
                variant: None,
            }),
        };
        let manifests =
            vec![image("windows", "amd64"), image("linux", "arm"), image("linux", "amd64")];
        let list = Manifest { manifests, ..Manifest::default() };
        for (engine, found) in
            [("x86_64", Some("linux amd64")), ("armv7l", Some("linux arm")), ("aarch64", None)]
        {
            let chosen = list.image_for(oci_architecture(engine)).map(|it| it.digest);
            assert_eq!(chosen, found.map(|it| Digest::of(it.as_bytes())), "{engine}");
        }
        for (platform, found) in [("linux/amd64", true), ("linux/arm/v7", false), ("x", false)] {
            assert_eq!(list.image_for(platform).is_some(), found, "{platform}");
        }
        assert_eq!(oci_architecture("i686"), "386");
        assert_eq!(oci_architecture("riscv64"), "riscv64");
    }

    #[test]
    fn nonsense_is_not_understood() {
        for text in ["", "7", "{\"layers\":[{\"digest\":\"md5:1\",\"size\":1}]}"] {
            assert!(Manifest::read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[track_caller]
    fn check(artifact: Option<&str>, layers: &[&str], flaw: Option<&str>) {
        let layer = |it: &&str| Descriptor {
            media_type: (*it).to_owned(),
            digest: Digest::of(b"x"),
            size: 1,
            platform: None,
        };
        let layers = layers.iter().map(layer).collect();
        let artifact_type = artifact.map(str::to_owned);
        let manifest = Manifest { artifact_type, layers, ..Manifest::default() };
        match (manifest.archive(), flaw) {
            (Ok(_), None) => {}
            (Err(error), Some(flaw)) => assert!(error.contains(flaw), "{error}"),
            (other, _) => panic!("{other:?}"),
        }
    }
}
