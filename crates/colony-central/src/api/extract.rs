//! Names in requests; the other parts of a request are read by `colony_wfm`.

use std::str::FromStr;

pub(crate) use colony_wfm::server::{JsonBody, QueryParameters, WholeBody};

use crate::fault::Fault;

/// Reads a name from a request.
pub(crate) fn parse_name<T: FromStr<Err: ToString>>(field: &str, text: &str) -> Result<T, Fault> {
    text.parse().map_err(|it: T::Err| Fault::field(field, it.to_string()))
}
