//! An OCI image as one tar in the format both engines load (`docker save`). It
//! is sent while the layers arrive from the registry.
//!
//! Engines read the list of the files first, which is the last one here: what
//! is cut off is never taken for an image. They unpack the layers and compare
//! each with its digest in the configuration.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bollard::query_parameters::ImportImageOptions;
use bytes::Bytes;
use colony_core::margo::Digest;
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use crate::containers::api::{Answer, LoadedImage};
use crate::containers::engine_error::EngineError;
use crate::docker::client::DockerClient;
use crate::docker::image::pinned;
use crate::oci::registry::Parts;

/// The longest time of one load: it is as long as the fetch of all layers.
const LOAD: Duration = Duration::from_secs(6 * 3600);
const BLOCK: usize = 512;

#[derive(Deserialize)]
struct Config {
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<Digest>,
}

/// A part of the tar.
pub(crate) enum Piece {
    Bytes(Bytes),
    /// A layer that arrives.
    Layer(Parts),
}

impl DockerClient {
    pub(in crate::docker) async fn import(&self, image: LoadedImage) -> Answer<()> {
        let LoadedImage { name, config, layers, stall, .. } = image;
        let tag = pinned::tag(&name).unwrap_or(name);
        let layers = layers.into_iter().map(|(layer, parts)| (layer.size, Piece::Layer(parts)));
        let pieces = pieces(&tag, &config, layers.collect()).map_err(EngineError::Unreadable)?;
        let (sending, mut sent) = oneshot::channel();
        let body = bollard::body_try_stream(stream(pieces, sending));
        let docker = self.docker.clone().with_timeout(LOAD);
        let mut steps = Box::pin(docker.import_image(ImportImageOptions::default(), body, None));
        let mut is_sent = false;
        loop {
            // As long as layers arrive, it is their source that may not stall.
            let stalled = async {
                if !is_sent {
                    let _ = (&mut sent).await;
                    is_sent = true;
                }
                tokio::time::sleep(stall).await;
            };
            let step = tokio::select! {
                step = steps.next() => step,
                () = stalled => return Err(EngineError::Timeout),
            };
            match step {
                Some(step) => drop(step?),
                None => return Ok(()),
            }
        }
    }
}

/// The parts of the tar of an image under the name `tag`. The layers come with
/// their sizes; they may be compressed.
pub(crate) fn pieces(
    tag: &str,
    config: &[u8],
    layers: Vec<(u64, Piece)>,
) -> Result<VecDeque<Piece>, String> {
    let read: Config =
        serde_json::from_slice(config).map_err(|it| format!("has a broken configuration: {it}"))?;
    let expected = read.rootfs.diff_ids.len();
    if expected != layers.len() {
        return Err(format!("has {} layers, not {expected}", layers.len()));
    }
    let mut tar = VecDeque::new();
    let whole = |it: &[u8]| Piece::Bytes(Bytes::copy_from_slice(it));
    let config_name = format!("{}.json", Digest::of(config).hex());
    put(&mut tar, &config_name, config.len() as u64, whole(config))?;
    let mut names = Vec::new();
    for (number, (size, layer)) in layers.into_iter().enumerate() {
        let name = format!("{number}/layer.tar");
        put(&mut tar, &name, size, layer)?;
        names.push(name);
    }
    let list = json!([{ "Config": config_name, "RepoTags": [tag], "Layers": names }]).to_string();
    put(&mut tar, "manifest.json", list.len() as u64, whole(list.as_bytes()))?;
    tar.push_back(whole(&[0; 2 * BLOCK]));
    Ok(tar)
}

/// Appends a file: its header, its content, and zeroes up to a whole block.
fn put(tar: &mut VecDeque<Piece>, name: &str, size: u64, content: Piece) -> Result<(), String> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).map_err(|it| format!("cannot be packed: {it}"))?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    let rest = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    let padding = vec![0; (BLOCK - rest) % BLOCK];
    tar.push_back(Piece::Bytes(Bytes::copy_from_slice(header.as_bytes())));
    tar.push_back(content);
    tar.push_back(Piece::Bytes(Bytes::from(padding)));
    Ok(())
}

/// `sending` is dropped with the last part, or when the engine reads no more.
fn stream(
    pieces: VecDeque<Piece>,
    sending: oneshot::Sender<()>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    futures_util::stream::unfold((pieces, sending), async |(mut pieces, sending)| {
        let part = part(&mut pieces).await?;
        Some((part, (pieces, sending)))
    })
}

async fn part(pieces: &mut VecDeque<Piece>) -> Option<io::Result<Bytes>> {
    loop {
        match pieces.pop_front()? {
            Piece::Bytes(bytes) if bytes.is_empty() => {}
            Piece::Bytes(bytes) => return Some(Ok(bytes)),
            Piece::Layer(mut parts) => match parts.recv().await {
                Some(part) if part.is_empty() => {}
                Some(part) => {
                    pieces.push_front(Piece::Layer(parts));
                    return Some(Ok(part));
                }
                None => {
                    pieces.clear();
                    return Some(Err(io::Error::other("a layer was cut off")));
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use tokio::sync::mpsc::channel;

    use super::*;

    #[tokio::test]
    async fn layers_are_packed_while_they_arrive() {
        let tar = packed(&["one", "two"], &["one", "two"], true).await.unwrap();
        let mut tar = tar::Archive::new(tar.as_slice());
        let mut names = Vec::new();
        for file in tar.entries().unwrap() {
            let (mut file, mut text) = (file.unwrap(), String::new());
            file.read_to_string(&mut text).unwrap();
            names.push(file.path().unwrap().display().to_string());
            if names.len() == 3 {
                assert_eq!(text, "two");
            }
        }
        assert_eq!(names[1..], ["0/layer.tar", "1/layer.tar", "manifest.json"]);
    }

    #[tokio::test]
    async fn flaws_are_found_before_the_list_of_files() {
        let flaw = packed(&["one"], &["one", "two"], true).await.unwrap_err();
        assert_eq!(flaw, "has 1 layers, not 2");
        let flaw = packed(&["one"], &["one"], false).await.unwrap_err();
        assert_eq!(flaw, "a layer was cut off");
    }

    /// The tar of an image whose configuration names the layers `named`; with
    /// `whole`, they come to their end.
    async fn packed(layers: &[&str], named: &[&str], whole: bool) -> Result<Vec<u8>, String> {
        let ids: Vec<Digest> = named.iter().map(|it| Digest::of(it.as_bytes())).collect();
        let config = json!({ "rootfs": { "diff_ids": ids } }).to_string();
        let mut pieces_of_layers = Vec::new();
        for layer in layers {
            let (to, parts) = channel(2);
            to.send(Bytes::copy_from_slice(layer.as_bytes())).await.unwrap();
            if whole {
                to.send(Bytes::new()).await.unwrap();
            }
            pieces_of_layers.push((layer.len() as u64, Piece::Layer(parts)));
        }
        let mut pieces = pieces("x:1", config.as_bytes(), pieces_of_layers)?;
        let mut tar = Vec::new();
        while let Some(part) = part(&mut pieces).await {
            tar.extend_from_slice(&part.map_err(|it| it.to_string())?);
        }
        Ok(tar)
    }
}
