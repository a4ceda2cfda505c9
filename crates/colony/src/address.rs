//! Where a role listens, and by which URLs others find it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::Context;

/// `0.0.0.0`, `0.0.0.0:7443` or `:7443`; what is missing comes from `usual`.
pub(crate) fn listen(text: &str, usual: SocketAddr) -> anyhow::Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, usual.port()));
    }
    let port = text.strip_prefix(':').and_then(|it| it.parse().ok());
    let port = port.with_context(|| format!("`{text}` is no address; such as 0.0.0.0:7443"))?;
    Ok(SocketAddr::new(usual.ip(), port))
}

/// The URLs of a role that listens on `address`, the one for others first.
pub(crate) fn urls(address: SocketAddr, configured: Vec<String>) -> Vec<String> {
    if !configured.is_empty() {
        return configured;
    }
    let port = address.port();
    let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let addresses = match address.ip().is_unspecified() {
        true => outward().map(|it| SocketAddr::new(it, port)).into_iter().chain([local]).collect(),
        false => vec![address],
    };
    addresses.iter().map(|it| format!("https://{it}")).collect()
}

/// The address this machine would use to reach others. Nothing is sent.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Reserved for documentation: only the routing table is asked.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_out_what_is_usual() {
        check("0.0.0.0", "0.0.0.0:7443");
        check("0.0.0.0:1", "0.0.0.0:1");
        check(":1", "127.0.0.1:1");
        check("::", "[::]:7443");
        assert!(listen("everywhere", usual()).is_err());
    }

    #[test]
    fn a_named_address_is_the_one_to_be_found_by() {
        assert_eq!(urls(usual(), Vec::new()), ["https://127.0.0.1:7443"]);
        assert_eq!(urls(usual(), vec!["https://hub".to_owned()]), ["https://hub"]);
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(listen(text, usual()).expect("an address").to_string(), expected);
    }

    fn usual() -> SocketAddr {
        "127.0.0.1:7443".parse().expect("an address")
    }
}
