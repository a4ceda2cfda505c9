//! Passes a blob on while it arrives, so that its size needs no memory.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use colony_core::margo::Digest;
use http_body_util::BodyExt;
use hyper::body::Body;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::http::HttpError;
use super::manifest::Descriptor;

/// How long nothing may arrive, and how long the receiver may take nothing.
const STALL: Duration = Duration::from_secs(120);
/// The size of a part, but for the last one.
const PART: usize = 256 << 10;
/// How many parts wait for the receiver.
const WAITING: usize = 4;

/// The content of a blob in parts. An empty part is its end: all of it came,
/// with the right digest. Without one it was cut off.
pub(crate) type Parts = Receiver<Bytes>;

/// Passes one blob on.
pub(crate) struct BlobFeed<'a> {
    blob: &'a Descriptor,
    to: Sender<Bytes>,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl<'a> BlobFeed<'a> {
    pub(crate) fn new(
        blob: &'a Descriptor,
        to: Sender<Bytes>,
        progress: &'a (dyn Fn(u64) + Sync),
    ) -> BlobFeed<'a> {
        BlobFeed { blob, to, progress }
    }

    /// Where a blob goes, and where it comes out.
    pub(crate) fn channel() -> (Sender<Bytes>, Parts) {
        channel(WAITING)
    }

    pub(super) fn digest(&self) -> &Digest {
        &self.blob.digest
    }

    pub(super) fn size(&self) -> u64 {
        self.blob.size
    }

    /// Succeeds also if the receiver wants no more.
    pub(super) async fn pass<B>(&self, mut body: B) -> Result<(), HttpError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let (mut hash, mut done, mut part) = (Sha256::new(), 0, BytesMut::new());
        loop {
            let frame = tokio::time::timeout(STALL, body.frame()).await;
            let Some(frame) = frame.map_err(|_| HttpError::Slow)? else { break };
            let frame = frame.map_err(|it| HttpError::Unreachable(it.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            done += data.len() as u64;
            if done > self.size() {
                return Err(HttpError::Odd(format!("it is larger than {} bytes", self.size())));
            }
            hash.update(&data);
            part.extend_from_slice(&data);
            if part.len() >= PART && !self.send(part.split().freeze()).await? {
                return Ok(());
            }
            (self.progress)(done);
        }
        let found: [u8; 32] = hash.finalize().into();
        if found != *self.digest().as_bytes() {
            let message = format!("{done} bytes came, which do not have that digest");
            return Err(HttpError::Odd(message));
        }
        if part.is_empty() || self.send(part.freeze()).await? {
            self.send(Bytes::new()).await?;
        }
        Ok(())
    }

    /// False if the receiver wants no more.
    async fn send(&self, part: Bytes) -> Result<bool, HttpError> {
        let sent = tokio::time::timeout(STALL, self.to.send(part)).await;
        Ok(sent.map_err(|_| HttpError::Slow)?.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn a_blob_ends_only_with_its_digest_and_size() {
        check(b"right", 5, Ok(&["right", ""])).await;
        check(b"wrong", 5, Err("do not have that digest")).await;
        check(b"right", 4, Err("larger than 4 bytes")).await;
        check(b"rig", 5, Err("3 bytes came")).await;
    }

    #[tokio::test]
    async fn a_receiver_may_leave() {
        let blob = blob(b"right", 5);
        let (to, parts) = BlobFeed::channel();
        drop(parts);
        let feed = BlobFeed::new(&blob, to, &|_| {});
        assert!(feed.pass(Full::from(&b"right"[..])).await.is_ok());
    }

    async fn check(content: &'static [u8], size: u64, expected: Result<&[&str], &str>) {
        let blob = blob(b"right", size);
        let (to, mut parts) = BlobFeed::channel();
        let passed = BlobFeed::new(&blob, to, &|_| {}).pass(Full::from(content)).await;
        let mut seen = Vec::new();
        while let Some(part) = parts.recv().await {
            seen.push(String::from_utf8(part.to_vec()).unwrap());
        }
        match (passed, expected) {
            (Ok(()), Ok(expected)) => assert_eq!(seen, expected),
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{error}");
                assert!(seen.iter().all(|it| !it.is_empty()), "{seen:?}");
            }
            (passed, _) => panic!("{passed:?}"),
        }
    }

    fn blob(content: &[u8], size: u64) -> Descriptor {
        let (media_type, digest) = (String::new(), Digest::of(content));
        Descriptor { media_type, digest, size, platform: None }
    }
}
