//! Which ports of the host a pod gets, and whether they are free.
//!
//! The network plugin forwards a port without asking whether another pod or a
//! program of the host has it, and one of the two is then not reached.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use crate::compose::{Port, Protocol};
use crate::containers::api::Answer;
use crate::containers::engine_error::EngineError;

/// How often another port is tried.
const TRIES: usize = 16;

/// The ports with a port of the host each: one that is not named is chosen.
/// `taken` are the ports that are forwarded to other pods.
pub(in crate::containerd) fn choose(wanted: &[Port], taken: &[Port]) -> Answer<Vec<Port>> {
    let mut chosen: Vec<Port> = Vec::new();
    let (named, open): (Vec<&Port>, Vec<&Port>) = wanted.iter().partition(|it| it.host.is_some());
    for port in named {
        let host = port.host.unwrap_or_default();
        let forwarded = taken.iter().any(|it| collide(it, port));
        if forwarded || !is_free(port, host) {
            let message = format!("host port {host} is already in use: address already in use");
            return Err(EngineError::Rejected { status: 409, message });
        }
        chosen.push(port.clone());
    }
    for port in open {
        let others: Vec<&Port> = taken.iter().chain(&chosen).collect();
        let found = free_port(port, &others).ok_or_else(|| {
            let message = format!("no port of the host is free for {}", port.container);
            EngineError::Rejected { status: 500, message }
        })?;
        chosen.push(found);
    }
    Ok(chosen)
}

/// A port that the kernel has free, and that is not forwarded.
fn free_port(port: &Port, others: &[&Port]) -> Option<Port> {
    let with = |host| Port { host: Some(host), ..port.clone() };
    let mut found = (0..TRIES).filter_map(|_| bound(port, 0)).map(with);
    found.find(|it| !others.iter().any(|other| collide(other, it)))
}

fn collide(one: &Port, other: &Port) -> bool {
    let anywhere =
        |it: &Port| it.host_ip.as_deref().is_none_or(|it| it.is_empty() || it == "0.0.0.0");
    let same = anywhere(one) || anywhere(other) || one.host_ip == other.host_ip;
    one.host == other.host && one.protocol == other.protocol && same
}

fn is_free(port: &Port, host: u16) -> bool {
    // The standard library has no sockets of it.
    port.protocol == Protocol::Sctp || bound(port, host).is_some()
}

/// The port that a socket gets; 0 asks for any.
fn bound(port: &Port, host: u16) -> Option<u16> {
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let address = port.host_ip.as_deref().and_then(|it| it.parse().ok()).unwrap_or(any);
    let address = SocketAddr::new(address, host);
    let bound = match port.protocol {
        Protocol::Tcp | Protocol::Sctp => TcpListener::bind(address).and_then(|it| it.local_addr()),
        Protocol::Udp => UdpSocket::bind(address).and_then(|it| it.local_addr()),
    };
    bound.ok().map(|it| it.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_another_pod_or_program_is_not_free() {
        let program = TcpListener::bind("127.0.0.1:0").unwrap();
        let used = program.local_addr().unwrap().port();
        let local = Some("127.0.0.1");
        check_port(port(local, used, Protocol::Tcp), &[], false);
        check_port(port(local, used, Protocol::Udp), &[], true);
        drop(program);
        let other = port(None, used, Protocol::Tcp);
        check_port(port(local, used, Protocol::Tcp), std::slice::from_ref(&other), false);
        check_port(port(local, used, Protocol::Udp), &[other], true);
        let elsewhere = port(Some("192.0.2.1"), used, Protocol::Tcp);
        check_port(port(local, used, Protocol::Tcp), &[elsewhere], true);
    }

    #[test]
    fn a_port_that_is_not_named_is_chosen() {
        let open = || Port { host: None, ..port(None, 0, Protocol::Tcp) };
        let chosen = choose(&[open(), open()], &[]).unwrap();
        let [one, two] = [0, 1].map(|it: usize| chosen[it].host.unwrap());
        assert!(one != two && one > 0 && two > 0, "{chosen:?}");
    }

    fn port(host_ip: Option<&str>, host: u16, protocol: Protocol) -> Port {
        Port { host_ip: host_ip.map(str::to_owned), host: Some(host), container: 80, protocol }
    }

    #[track_caller]
    fn check_port(wanted: Port, taken: &[Port], expected: bool) {
        assert_eq!(choose(std::slice::from_ref(&wanted), taken).is_ok(), expected, "{wanted:?}");
    }
}
