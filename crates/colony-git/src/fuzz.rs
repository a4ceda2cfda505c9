//! Doors to private readers, for the fuzzers alone.

use crate::error::Error;
use crate::remote::Remote;
pub use crate::serve::door::{Packet, answer, lines, request};
use crate::serve::{self, Service};

/// Whether a path may be one of the repository.
pub fn path(text: &str) -> Result<(), Error> {
    crate::path::check(text)
}

/// The full name of a branch.
pub fn branch(text: &str) -> Result<String, Error> {
    crate::path::branch_ref(text)
}

/// What of a `Git-Protocol` header reaches git's environment.
pub fn protocol(header: &str) -> Option<&str> {
    serve::clean(header)
}

/// What stands before git's own answer to a client that asks for this protocol.
pub fn preamble(service: Service, protocol: Option<&str>) -> Vec<u8> {
    serve::preamble(service, protocol)
}

/// The answer that is given without git.
pub fn capabilities() -> Vec<u8> {
    serve::capabilities()
}

/// The address of a remote without its secrets, and the header that has them.
pub fn address(remote: &Remote) -> Result<(String, Option<String>), Error> {
    remote.address().map(|it| (it.url, it.authorization))
}
