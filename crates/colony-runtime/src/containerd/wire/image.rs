//! Images, as CRI shows them.

use prost::Message;

use super::ImageSpec;

/// A request that names one image.
#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ImageRequest {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) image: Option<ImageSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ImageStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) image: Option<Image>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Image {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) id: String,
    /// Complete names, with their tags.
    #[prost(string, repeated, tag = "2")]
    pub(in crate::containerd) repo_tags: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(in crate::containerd) repo_digests: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PullImageRequest {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) image: Option<ImageSpec>,
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) auth: Option<AuthConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct AuthConfig {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) username: String,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) password: String,
    #[prost(string, tag = "5")]
    pub(in crate::containerd) identity_token: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ImageFsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::containerd) image_filesystems: Vec<FilesystemUsage>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct FilesystemUsage {
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) fs_id: Option<FilesystemId>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct FilesystemId {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) mountpoint: String,
}
