//! Images: looked for, pulled and removed, through CRI where it has a call.

mod store;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, interval};

use crate::config::Credential;
use crate::containerd::client::{ContainerdClient, there};
use crate::containerd::events::NAMESPACE;
use crate::containerd::grpc::{ANSWER, Grpc, framed, whole};
use crate::containerd::wire::{
    AuthConfig, DeleteImageRequest, Empty, Image as CriImage, ImageFsResponse, ImageRequest,
    ImageSpec, ImageStatusResponse, PullImageRequest, ReadContentRequest, ReadContentResponse,
    StatusesRequest, StatusesResponse,
};
use crate::containers::api::{Answer, Image, ImageCheck, Pull};
use crate::containers::engine_error::EngineError;
use crate::containers::image::Reference;
use crate::containers::pulls::Shown;

/// The longest time of one pull: progress is looked at meanwhile.
const PULL: Duration = Duration::from_secs(6 * 3600);
const PROGRESS: Duration = Duration::from_millis(500);
/// The largest configuration of an image that is read.
const CONFIG_LIMIT: usize = 4 << 20;

/// The part of an image's configuration that CRI does not show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Configuration {
    os: String,
    architecture: String,
    config: Option<Configured>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Configured {
    healthcheck: Option<ImageCheck>,
}

impl ContainerdClient {
    async fn images<T: prost::Message + Default>(
        &self,
        method: &str,
        request: &impl prost::Message,
        time: Duration,
    ) -> Answer<T> {
        self.grpc.call(&format!("/runtime.v1.ImageService/{method}"), request, time).await
    }

    pub(in crate::containerd) async fn find_image(&self, name: &str) -> Answer<Option<Image>> {
        let Some(found) = self.image_status(name).await? else { return Ok(None) };
        let Configuration { os, architecture, config } = self.configuration(&found.id).await?;
        let check = config.and_then(|it| it.healthcheck);
        Ok(Some(Image { id: found.id, os, architecture, check }))
    }

    /// One that cannot be read says nothing.
    async fn configuration(&self, id: &str) -> Answer<Configuration> {
        let bytes = there(self.blob(id).await)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn blob(&self, digest: &str) -> Answer<Vec<u8>> {
        let read = async {
            let body = whole(framed([&ReadContentRequest { digest: digest.to_owned() }]));
            let method = "/containerd.services.content.v1.Content/Read";
            let mut parts = self.grpc.open(method, &[NAMESPACE], body).await?;
            let mut bytes = Vec::new();
            while let Some(part) = parts.next::<ReadContentResponse>().await? {
                bytes.extend_from_slice(&part.data);
                if bytes.len() > CONFIG_LIMIT {
                    return Err(EngineError::Unexpected(format!("{digest} is too large")));
                }
            }
            Ok(bytes)
        };
        tokio::time::timeout(ANSWER, read).await.unwrap_or(Err(EngineError::Timeout))
    }

    pub(in crate::containerd) async fn pull_image(
        &self,
        pull: &Pull<'_>,
        shown: &Shown<'_>,
    ) -> Answer<()> {
        let request =
            PullImageRequest { image: Some(spec(pull.image)), auth: pull.credential.map(auth) };
        let pulled = self.images::<Empty>("PullImage", &request, PULL);
        tokio::pin!(pulled);
        let (mut look, mut last) = (interval(PROGRESS), (Vec::new(), Instant::now()));
        loop {
            tokio::select! {
                biased;
                answer = &mut pulled => return answer.map(drop),
                _ = look.tick() => {
                    let now = self.ingests(shown).await.unwrap_or_default();
                    if now != last.0 {
                        last = (now, Instant::now());
                    }
                    if last.1.elapsed() > pull.stall {
                        return Err(EngineError::Timeout);
                    }
                }
            }
        }
    }

    /// What is being fetched, with the bytes done. Of several pulls at a time
    /// each shows the sum.
    async fn ingests(&self, shown: &Shown<'_>) -> Answer<Vec<(String, i64)>> {
        let method = "/containerd.services.content.v1.Content/ListStatuses";
        let request = StatusesRequest { filters: Vec::new() };
        let answer: StatusesResponse =
            self.grpc.call_in(NAMESPACE, method, &request, ANSWER).await?;
        for it in &answer.statuses {
            if let (Ok(done), Ok(total)) = (u64::try_from(it.offset), u64::try_from(it.total)) {
                shown.note(&it.reference, done, total);
            }
        }
        Ok(answer.statuses.into_iter().map(|it| (it.reference, it.offset)).collect())
    }

    /// CRI removes all names of an image, and does so even if a container uses
    /// it: then the image stays. If it has another name, only this one goes.
    pub(in crate::containerd) async fn drop_image(
        &self,
        name: &str,
        keep: &BTreeSet<String>,
    ) -> Answer<()> {
        let Some(found) = self.image_status(name).await? else { return Ok(()) };
        if self.containers().await?.iter().any(|it| it.image_ref == found.id) {
            let message = "a container uses the image".to_owned();
            return Err(EngineError::Rejected { status: 409, message });
        }
        let full = full_name(name);
        let is_only_name = found.repo_tags.iter().all(|it| *it == full);
        if is_only_name && !self.is_any(&found.id, keep).await? {
            return self.images::<Empty>("RemoveImage", &request(name), ANSWER).await.map(drop);
        }
        let request = DeleteImageRequest { name: full };
        let method = "/containerd.services.images.v1.Images/Delete";
        let deleted = self.grpc.call_in::<Empty>(NAMESPACE, method, &request, ANSWER).await;
        there(deleted).map(drop)
    }

    async fn is_any(&self, id: &str, names: &BTreeSet<String>) -> Answer<bool> {
        for name in names {
            if self.image_status(name).await?.is_some_and(|it| it.id == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(in crate::containerd) async fn image_status(&self, name: &str) -> Answer<Option<CriImage>> {
        let answer: ImageStatusResponse =
            self.images("ImageStatus", &request(name), ANSWER).await?;
        Ok(answer.image)
    }

    /// Where images are kept; empty if the engine does not say.
    pub(in crate::containerd) async fn image_folder(grpc: &Grpc) -> String {
        let method = "/runtime.v1.ImageService/ImageFsInfo";
        let answer = grpc.call::<ImageFsResponse>(method, &Empty {}, ANSWER).await;
        let systems = answer.map(|it| it.image_filesystems).unwrap_or_default();
        let folder = systems.into_iter().find_map(|it| it.fs_id);
        folder.map(|it| it.mountpoint).unwrap_or_default()
    }
}

fn request(name: &str) -> ImageRequest {
    ImageRequest { image: Some(spec(name)) }
}

fn spec(name: &str) -> ImageSpec {
    ImageSpec { image: name.to_owned() }
}

fn auth(credential: &Credential) -> AuthConfig {
    match credential {
        Credential::Password { user, password } => AuthConfig {
            username: user.clone(),
            password: password.clone(),
            ..AuthConfig::default()
        },
        Credential::IdentityToken(token) => {
            AuthConfig { identity_token: token.clone(), ..AuthConfig::default() }
        }
    }
}

/// The name as containerd keeps it: with its registry, and with its tag if it
/// has no digest.
pub(super) fn full_name(name: &str) -> String {
    let without_tag = name.split_once('@').map(|(_, digest)| {
        let repository = Reference::read(name).name;
        format!("{repository}@{digest}")
    });
    let name = without_tag.as_deref().unwrap_or(name);
    let (first, rest) = name.split_once('/').unwrap_or(("", name));
    let is_host = first.contains(['.', ':']) || first == "localhost";
    let full = match (first, is_host) {
        ("", _) => format!("docker.io/library/{name}"),
        (_, true) => name.to_owned(),
        (_, false) => format!("docker.io/{name}"),
    };
    match rest.contains([':', '@']) {
        true => full,
        false => format!("{full}:latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        check("busybox", "docker.io/library/busybox:latest");
        check("busybox:1", "docker.io/library/busybox:1");
        check("team/app", "docker.io/team/app:latest");
        check("localhost/app:1", "localhost/app:1");
        check("r.example:5000/a/b", "r.example:5000/a/b:latest");
        check("r.example/a@sha256:0", "r.example/a@sha256:0");
        check("r.example:5000/a:1@sha256:0", "r.example:5000/a@sha256:0");
    }

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(full_name(name), expected);
    }
}
