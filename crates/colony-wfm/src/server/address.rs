//! The address under which others reach a role that listens on all interfaces.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// A role that listens on all interfaces is reached at the address of its
/// outgoing connections.
pub fn host_of(listening: IpAddr) -> String {
    if !listening.is_unspecified() {
        return listening.to_string();
    }
    outward().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_string()
}

/// Chooses a route to an address that is reserved for documentation; nothing
/// is sent.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|it| it.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_somewhere_is_found_there() {
        assert_eq!(host_of("127.0.0.1".parse().expect("an address")), "127.0.0.1");
        assert_ne!(host_of("0.0.0.0".parse().expect("an address")), "0.0.0.0");
    }
}
