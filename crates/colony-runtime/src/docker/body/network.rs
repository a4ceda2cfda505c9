//! Networks, and how a container takes part in them.

use std::collections::HashMap;

use bollard::models::{
    EndpointIpamConfig, EndpointSettings, Ipam as EngineIpam, IpamConfig, NetworkingConfig,
};

use super::{some, some_map};
use crate::compose::{AddressPool, Ipam};
use crate::containers::api::Endpoint;

/// The network that is attached at creation.
pub(super) fn first(endpoint: &Endpoint) -> NetworkingConfig {
    let endpoints = HashMap::from([(endpoint.network.clone(), settings(endpoint))]);
    NetworkingConfig { endpoints_config: Some(endpoints) }
}

pub(crate) fn settings(endpoint: &Endpoint) -> EndpointSettings {
    let of = &endpoint.attachment;
    let addresses = EndpointIpamConfig {
        ipv4_address: of.ipv4_address.map(|it| it.to_string()),
        ipv6_address: of.ipv6_address.map(|it| it.to_string()),
        link_local_ips: some(of.link_local_ips.iter().map(ToString::to_string).collect()),
    };
    let options = of.driver_opts.iter().map(|(key, value)| (key.clone(), value.clone()));
    EndpointSettings {
        aliases: Some(of.aliases.clone()),
        ipam_config: Some(addresses).filter(|it| *it != EndpointIpamConfig::default()),
        driver_opts: some_map(options),
        ..EndpointSettings::default()
    }
}

pub(crate) fn ipam(of: &Ipam) -> EngineIpam {
    EngineIpam {
        driver: of.driver.clone(),
        options: some_map(of.options.iter().map(|(key, value)| (key.clone(), value.clone()))),
        config: some(of.pools.iter().map(pool).collect()),
    }
}

fn pool(of: &AddressPool) -> IpamConfig {
    let reserved = of.aux_addresses.iter().map(|(name, it)| (name.clone(), it.to_string()));
    IpamConfig {
        subnet: of.subnet.clone(),
        ip_range: of.ip_range.clone(),
        gateway: of.gateway.map(|it| it.to_string()),
        auxiliary_addresses: some_map(reserved),
    }
}
