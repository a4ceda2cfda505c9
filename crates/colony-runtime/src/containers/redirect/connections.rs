//! The connections of a container: `/proc/<pid>/net/tcp` and `tcp6`. Pure.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

/// How many connections to `ports` would fail if the container stopped.
/// Those with `siblings`, the containers of the same version, and those inside
/// the container end with it and do not count.
pub(super) fn count(table: &str, ports: &BTreeSet<u16>, siblings: &BTreeSet<IpAddr>) -> usize {
    let open = table.lines().skip(1).filter_map(open);
    open.filter(|(local, remote)| {
        let inside = remote.is_loopback() || local.0 == *remote || siblings.contains(remote);
        ports.contains(&local.1) && !inside
    })
    .count()
}

/// The local socket and the remote address of a connection that either side may
/// still use, or whose last bytes are not delivered.
fn open(line: &str) -> Option<((IpAddr, u16), IpAddr)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, remote, state, ..] = fields.as_slice() else { return None };
    // Established, half open, or closed by one side only.
    let lasting = matches!(*state, "01" | "03" | "04" | "08" | "09" | "0B");
    lasting.then_some((socket(local)?, socket(remote)?.0))
}

fn socket(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let words = (0..address.len()).step_by(8).map(|at| {
        let word = address.get(at..at + 8)?;
        u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes)
    });
    let bytes: Vec<u8> = words.collect::<Option<Vec<[u8; 4]>>>()?.concat();
    let address = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::from(four),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?).to_canonical(),
    };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.89.0.2:8080 with 10.89.0.1.
    const OUTSIDE: &str = "0: 0200590A:1F90 0100590A:9BBD";

    #[test]
    fn connections_that_would_fail_count() {
        for (state, expected) in [
            ("01", 1),
            ("02", 0),
            ("03", 1),
            ("04", 1),
            ("05", 0),
            ("06", 0),
            ("08", 1),
            ("09", 1),
            ("0A", 0),
            ("0B", 1),
        ] {
            check(&format!("{OUTSIDE} {state}"), expected);
        }
    }

    #[test]
    fn only_connections_from_outside_to_published_ports_count() {
        check("0: 0200590A:1F91 0100590A:9BBD 01", 0);
        check("0: 0100007F:1F90 0100007F:9BBD 01", 0);
        check("0: 0200590A:1F90 0200590A:9BBD 01", 0);
        check("0: 0200590A:1F90 0300590A:9BBD 01", 0);
        check(&format!("{OUTSIDE} 01\n{OUTSIDE} 01"), 2);
    }

    #[test]
    fn ipv6_sockets_hold_ipv4_connections() {
        let mapped = "0000000000000000FFFF0000";
        check(&format!("0: {mapped}0200590A:1F90 {mapped}0100590A:9BBD 01"), 1);
        check(&format!("0: {mapped}0200590A:1F90 {mapped}0300590A:9BBD 01"), 0);
    }

    #[test]
    fn lines_that_cannot_be_read_do_not_count() {
        for line in [
            "",
            "0:",
            "0: x:1F90 y:9BBD 01",
            "0: 0200590A 0100590A 01",
            "0: 02ä0590A:1F90 0100590A:1 01",
        ] {
            check(line, 0);
        }
    }

    #[track_caller]
    fn check(lines: &str, expected: usize) {
        let siblings = BTreeSet::from(["10.89.0.3".parse().unwrap()]);
        let table = format!("  sl  local_address rem_address   st\n{lines}\n");
        assert_eq!(count(&table, &BTreeSet::from([8080]), &siblings), expected, "{lines}");
    }
}
