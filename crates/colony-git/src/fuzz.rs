//! Access to private parsers, for the fuzzers only.

use crate::error::Error;
pub use crate::serve::door::{Packet, answer, lines, request};
use crate::serve::{self, Service};
use crate::transport::remote::Remote;

/// Whether a path is allowed in the repository.
pub fn path(text: &str) -> Result<(), Error> {
    crate::path::check(text)
}

/// The full name of a branch.
pub fn branch(text: &str) -> Result<String, Error> {
    crate::path::branch_ref(text)
}

/// The part of a `Git-Protocol` header that reaches git's environment.
pub fn protocol(header: &str) -> Option<&str> {
    serve::clean(header)
}

/// The bytes before git's own answer to a client that requests this protocol.
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
