//! Ids of devices, and the targets of deployments.
//!
//! An id has segments, `gateway/child`. It becomes part of paths and URLs, so
//! the segments `.` and `..` are refused although the specification's pattern
//! allows them.

use std::fmt;
use std::str::FromStr;

use crate::value::text::{Invalid, Reason, Text, check, holds_text, serde_as_text};

/// Bytes of the longest id; the specification sets no limit.
const LIMIT: usize = 512;

/// The id of a device, with its gateways in front: `gateway/child`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(String);

holds_text!(DeviceId);

/// Where a deployment is to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceTarget {
    /// On this device.
    Device(DeviceId),
    /// On a child of this gateway that the gateway chooses, written `gw/*`.
    AnyChild(DeviceId),
}

serde_as_text!(DeviceTarget);

impl DeviceId {
    /// The segments of the id, outermost gateway first.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The id of the gateway this device is behind, if it is behind one.
    pub fn parent(&self) -> Option<DeviceId> {
        let (parent, _) = self.0.rsplit_once('/')?;
        Some(DeviceId(parent.to_owned()))
    }

    /// Whether this device is behind `gateway`, directly or not.
    pub fn is_below(&self, gateway: &DeviceId) -> bool {
        self.0.strip_prefix(gateway.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The id of a child of this device.
    pub fn child(&self, segment: &str) -> Result<DeviceId, Invalid> {
        format!("{self}/{segment}").parse()
    }
}

impl Text for DeviceId {
    const WHAT: &'static str = "device id";
    const EXPECTED: &'static str =
        "segments of letters, digits, `.`, `_`, `~` and `-`, joined by `/`";
}

impl FromStr for DeviceId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<DeviceId, Invalid> {
        check::<Self>(text, LIMIT, |c| c.is_ascii_alphanumeric() || "._~-/".contains(c))?;
        match text.split('/').find(|it| matches!(*it, "" | "." | "..")) {
            Some(segment) => Err(Invalid::new::<Self>(text, Reason::Segment(segment.to_owned()))),
            None => Ok(DeviceId(text.to_owned())),
        }
    }
}

impl DeviceTarget {
    /// The device, or the gateway that chooses one.
    pub fn device(&self) -> &DeviceId {
        match self {
            DeviceTarget::Device(id) | DeviceTarget::AnyChild(id) => id,
        }
    }
}

impl From<DeviceId> for DeviceTarget {
    fn from(id: DeviceId) -> DeviceTarget {
        DeviceTarget::Device(id)
    }
}

impl Text for DeviceTarget {
    const WHAT: &'static str = "device id";
    const EXPECTED: &'static str = "a device id such as `gateway/device`, or `gateway/*`";
}

impl FromStr for DeviceTarget {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<DeviceTarget, Invalid> {
        let target = match text.strip_suffix("/*") {
            Some(gateway) => gateway.parse().map(DeviceTarget::AnyChild),
            None => text.parse().map(DeviceTarget::Device),
        };
        target.map_err(|error: Invalid| Invalid::new::<Self>(text, error.reason))
    }
}

impl fmt::Display for DeviceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceTarget::Device(id) => write!(f, "{id}"),
            DeviceTarget::AnyChild(id) => write!(f, "{id}/*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_ids_are_safe_as_paths() {
        check("edge-01", "device edge-01");
        check("gw/line.2/dev~3", "device gw/line.2/dev~3");
        check("gw/*", "any child of gw");
        check("gw/../dev", "`gw/../dev` has the segment `..`");
        check("./dev", "`./dev` has the segment `.`");
        check("/dev", "`/dev` has the segment ``");
        check("gw//dev", "`gw//dev` has the segment ``");
        check("*", "`*` has the character `*`");
        check("/*", "is empty");
        check("gw/*/dev", "`gw/*/dev` has the character `*`");
        check("gw dev", "`gw dev` has the character ` `");
    }

    #[test]
    fn hierarchy_follows_segments_and_not_letters() {
        let id = |text: &str| text.parse::<DeviceId>().unwrap();
        assert!(id("gw/a/b").is_below(&id("gw")));
        assert!(!id("gw2/a").is_below(&id("gw")));
        assert!(!id("gw").is_below(&id("gw")));
        assert_eq!(id("gw/a/b").parent(), Some(id("gw/a")));
        assert_eq!(id("gw").parent(), None);
        assert_eq!(id("gw").child("a"), Ok(id("gw/a")));
        assert!(id("gw").child("..").is_err());
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match text.parse::<DeviceTarget>() {
            Ok(DeviceTarget::Device(id)) => format!("device {id}"),
            Ok(DeviceTarget::AnyChild(id)) => format!("any child of {id}"),
            Err(error) => error.problem(),
        };
        assert_eq!(found, expected);
    }
}
