//! Talking with a remote repository: its address and credentials, fetching over
//! a path, ssh or HTTP, the limits of a fetch, and advice on its errors.

pub(crate) mod advice;
pub(crate) mod fetch;
mod http;
pub(crate) mod limit;
pub(crate) mod remote;
