//! Content of OCI registries: where it is, how it is fetched and verified, the
//! credentials for it, and the archives of components that are kept of it.

pub(crate) mod archive;
pub(crate) mod credentials;
pub(crate) mod registry;
pub(crate) mod source;
