//! Networks, and how services take part in them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// A network of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub internal: bool,
    pub driver: Option<String>,
    pub driver_opts: BTreeMap<String, String>,
    pub labels: BTreeMap<String, String>,
    /// The engine's name of a network that exists already; the rest is empty.
    pub external: Option<String>,
    // A network is made again when the digest of this changes: a field that is
    // not set must not change it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ipv6: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipam: Option<Ipam>,
}

/// How a network gives addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ipam {
    pub driver: Option<String>,
    pub options: BTreeMap<String, String>,
    pub pools: Vec<AddressPool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPool {
    /// Such as `172.28.0.0/16`.
    pub subnet: Option<String>,
    pub ip_range: Option<String>,
    pub gateway: Option<IpAddr>,
    pub aux_addresses: BTreeMap<String, IpAddr>,
}

/// How a service takes part in a network. It is always known there by its own
/// name; `aliases` are further ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attachment {
    pub aliases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<Ipv4Addr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<Ipv6Addr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub link_local_ips: Vec<IpAddr>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub driver_opts: BTreeMap<String, String>,
    /// The network with the highest one is the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub priority: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
