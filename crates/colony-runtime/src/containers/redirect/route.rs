//! Which interface leads to a container: `/proc/net/route`. Pure.

use std::net::Ipv4Addr;

use super::rules::Link;

/// The link over which this host reaches the address without a gateway.
pub(super) fn link_to(routes: &str, address: Ipv4Addr) -> Option<Link> {
    let links = routes.lines().skip(1).filter_map(link);
    let near = links.filter(|it| {
        let mask = Ipv4Addr::from(u32::MAX.checked_shl(32 - it.prefix).unwrap_or_default());
        address & mask == it.subnet
    });
    near.max_by_key(|it| it.prefix)
}

fn link(line: &str) -> Option<Link> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [interface, subnet, gateway, _, _, _, _, mask, ..] = fields.as_slice() else { return None };
    let (subnet, gateway, mask) = (read(subnet)?, read(gateway)?, read(mask)?);
    // Names of interfaces may hold nearly anything; this one becomes a path.
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let usable = interface.chars().all(plain) && !interface.contains("..");
    let prefix = u32::from(mask).leading_ones();
    let direct = gateway.is_unspecified() && prefix > 0 && usable;
    direct.then(|| Link { interface: (*interface).to_owned(), subnet, prefix })
}

/// An address in the byte order of this machine.
fn read(hex: &str) -> Option<Ipv4Addr> {
    u32::from_str_radix(hex, 16).ok().map(|it| Ipv4Addr::from(it.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
        eth0\t00000000\t0100630A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        podman1\t0000590A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        wide\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n\
        far\t0001590A\t0100630A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        a/../b\t0002590A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        broken\n";

    #[test]
    fn the_narrowest_direct_route_leads_to_a_container() {
        check("10.89.0.2", "podman1 10.89.0.0/24");
        check("10.89.1.2", "wide 10.0.0.0/8");
        check("10.89.2.2", "wide 10.0.0.0/8");
        check("192.0.2.1", "");
    }

    #[track_caller]
    fn check(address: &str, expected: &str) {
        let found = link_to(ROUTES, address.parse().unwrap());
        let found = found.map(|it| format!("{} {}/{}", it.interface, it.subnet, it.prefix));
        assert_eq!(found.unwrap_or_default(), expected, "{address}");
    }
}
