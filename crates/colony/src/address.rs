//! The address a role listens on.

use std::net::{IpAddr, SocketAddr};

use anyhow::Context;

/// Parses `0.0.0.0`, `0.0.0.0:7443` or `:7443`; missing parts come from
/// `usual`.
pub(crate) fn listen(text: &str, usual: SocketAddr) -> anyhow::Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, usual.port()));
    }
    let port = text.strip_prefix(':').and_then(|it| it.parse().ok());
    let port = port.with_context(|| format!("`{text}` is not an address such as 0.0.0.0:7443"))?;
    Ok(SocketAddr::new(usual.ip(), port))
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

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(listen(text, usual()).expect("an address").to_string(), expected);
    }

    fn usual() -> SocketAddr {
        "127.0.0.1:7443".parse().expect("an address")
    }
}
