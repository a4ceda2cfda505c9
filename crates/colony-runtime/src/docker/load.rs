//! An OCI image as one tar in the format both engines load (`docker save`).

use std::io::{self, Read};

use bollard::query_parameters::ImportImageOptions;
use bytes::Bytes;
use colony_core::margo::Digest;
use flate2::read::GzDecoder;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;

use crate::containers::api::{Answer, LoadedImage};
use crate::containers::engine_error::EngineError;
use crate::containers::image::UNPACKED_LIMIT;
use crate::docker::client::DockerClient;

#[derive(Deserialize)]
struct Config {
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<Digest>,
}

impl DockerClient {
    pub(super) async fn import(&self, image: LoadedImage) -> Answer<()> {
        let LoadedImage { name, config, layers, stall } = image;
        let packed = tokio::task::spawn_blocking(move || packed(&name, &config, &layers)).await;
        let packed = packed.unwrap_or_else(|it| Err(it.to_string()));
        let body = bollard::body_full(Bytes::from(packed.map_err(EngineError::Unreadable)?));
        let options = ImportImageOptions { quiet: true, ..ImportImageOptions::default() };
        let mut steps = Box::pin(self.docker.import_image(options, body, None));
        loop {
            let step = tokio::time::timeout(stall, steps.next()).await;
            match step.map_err(|_| EngineError::Timeout)? {
                Some(step) => drop(step?),
                None => return Ok(()),
            }
        }
    }
}

/// Packs an image under the name `tag`. Layers may be gzipped; unpacked they
/// must have the digests the configuration names.
pub(crate) fn packed(
    tag: &str,
    config: &[u8],
    layers: &[impl AsRef<[u8]>],
) -> Result<Vec<u8>, String> {
    let read: Config =
        serde_json::from_slice(config).map_err(|it| format!("has a broken configuration: {it}"))?;
    let expected = read.rootfs.diff_ids;
    if expected.len() != layers.len() {
        return Err(format!("has {} layers, not {}", layers.len(), expected.len()));
    }
    let mut budget = UNPACKED_LIMIT;
    let mut files = vec![(format!("{}.json", Digest::of(config).hex()), config.to_vec())];
    for (layer, expected) in layers.iter().zip(&expected) {
        let layer = unpacked(layer.as_ref(), &mut budget)
            .map_err(|it| format!("has a broken layer: {it}"))?;
        let found = Digest::of(&layer);
        if found != *expected {
            return Err(format!("has a layer {found} instead of {expected}"));
        }
        files.push((format!("{}/layer.tar", expected.hex()), layer));
    }
    let names: Vec<&String> = files.iter().skip(1).map(|it| &it.0).collect();
    let manifest = json!([{ "Config": files[0].0, "RepoTags": [tag], "Layers": names }]);
    files.push(("manifest.json".to_owned(), manifest.to_string().into_bytes()));
    tarred(&files).map_err(|it| format!("cannot be packed: {it}"))
}

fn unpacked(layer: &[u8], budget: &mut u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = *budget + 1;
    match layer.starts_with(&[0x1f, 0x8b]) {
        true => GzDecoder::new(layer).take(limit).read_to_end(&mut bytes)?,
        false => layer.take(limit).read_to_end(&mut bytes)?,
    };
    let size = bytes.len() as u64;
    *budget = budget.checked_sub(size).ok_or_else(|| io::Error::other("it is too large"))?;
    Ok(bytes)
}

fn tarred(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, bytes.as_slice())?;
    }
    tar.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_checked_against_the_configuration() {
        check(&[b"one", b"two"], &[b"one", b"two"], None);
        check(&[b"one"], &[b"one", b"two"], Some("has 1 layers, not 2"));
        check(&[b"one"], &[b"two"], Some("has a layer sha256:"));
    }

    #[track_caller]
    fn check(layers: &[&[u8]], named: &[&[u8]], flaw: Option<&str>) {
        let ids: Vec<Digest> = named.iter().map(|it| Digest::of(it)).collect();
        let config = json!({ "rootfs": { "diff_ids": ids } }).to_string();
        match (packed("x:1", config.as_bytes(), layers), flaw) {
            (Ok(bytes), None) => {
                let mut tar = tar::Archive::new(bytes.as_slice());
                assert_eq!(tar.entries().unwrap().count(), layers.len() + 2);
            }
            (Err(error), Some(flaw)) => assert!(error.contains(flaw), "{error}"),
            (other, _) => panic!("{other:?}"),
        }
    }
}
