//! Images of Docker and Podman: pulled, loaded, and named by their digest.

pub(crate) mod load;
pub(super) mod pinned;
mod pull;
