//! Names in requests.

use std::str::FromStr;

use colony_core::id::{NodeName, SiteName};
use colony_core::margo::Problem;

use super::ReadApi;

/// Reads a name from a path, a query or a body.
pub(super) fn name<T: FromStr<Err: ToString>>(field: &str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: T::Err| Problem::field(field, error.to_string()))
}

/// A site that the caller may view.
pub(super) fn viewed<Q: ReadApi>(
    app: &Q,
    caller: &Q::Caller,
    field: &str,
    site: &str,
) -> Result<SiteName, Q::Error> {
    let site: SiteName = name(field, site)?;
    app.may_view(caller, &site)?;
    Ok(site)
}

/// A node in a request: `<node>`, or `<site>/<node>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeTarget {
    pub site: Option<SiteName>,
    pub node: NodeName,
}

impl NodeTarget {
    pub(super) fn parse(text: &str) -> Result<NodeTarget, Problem> {
        let (site, node) = match text.split_once('/') {
            Some((site, node)) => (Some(name("node", site)?), node),
            None => (None, text),
        };
        Ok(NodeTarget { site, node: name("node", node)? })
    }
}
