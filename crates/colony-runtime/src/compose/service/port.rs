//! Ports: the short form, the long form, and ranges.

use std::net::IpAddr;

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::keys::{self, KeySection};
use crate::compose::project::{Port, Protocol};
use crate::compose::syntax::value::{self, take};

/// How many ports one service may publish or expose.
const PORTS: usize = 1_000;

const SHORT: &str = "`[[address:]host:]container[/protocol]`, such as `127.0.0.1:8080:80/tcp`";

/// The ports of a service, each with its position.
pub(crate) fn located<'a>(service: &Cursor<'a>) -> Vec<(Cursor<'a>, Port)> {
    let list = service.field("ports");
    let items = list.as_ref().and_then(|it| it.items()).unwrap_or_default();
    let mut found = Vec::new();
    for item in items {
        let ports = read(&item).unwrap_or_default();
        if found.len() + ports.len() > PORTS {
            item.error("is one port too many", format!("at most {PORTS} for each service"));
            break;
        }
        found.extend(ports.into_iter().map(|it| (item.clone(), it)));
    }
    found
}

/// The ports that only other services of its networks can reach.
pub(super) fn exposed(cursor: &Cursor<'_>) -> Option<Vec<u16>> {
    let ranges = cursor.each(|it| {
        let text = it.string()?;
        let range = range(text.strip_suffix("/tcp").unwrap_or(&text));
        range.or_else(|| it.mismatch("a port, or a range such as `3000-3005`"))
    })?;
    let ports: Vec<u16> = ranges.into_iter().flatten().take(PORTS + 1).collect();
    if ports.len() > PORTS {
        return cursor.mismatch(&format!("at most {PORTS} ports"));
    }
    Some(ports)
}

/// Whether two ports cannot be published on one host.
pub(crate) fn collide(a: &Port, b: &Port) -> bool {
    let same = a.host.is_some() && a.host == b.host && a.protocol == b.protocol;
    same && overlap(address(a), address(b))
}

fn address(port: &Port) -> Option<IpAddr> {
    port.host_ip.as_ref().and_then(|it| it.parse().ok())
}

fn overlap(a: Option<IpAddr>, b: Option<IpAddr>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return true };
    a == b || (a.is_ipv4() == b.is_ipv4() && (a.is_unspecified() || b.is_unspecified()))
}

fn read(cursor: &Cursor<'_>) -> Option<Vec<Port>> {
    match &cursor.node().value {
        Value::Map(_) => long(cursor).map(|it| vec![it]),
        Value::Scalar { .. } => match short(&cursor.string()?) {
            Ok(ports) => Some(ports),
            Err(expected) => cursor.mismatch(expected),
        },
        Value::Null | Value::Seq(_) => cursor.mismatch("a port as a text or a mapping"),
    }
}

fn long(cursor: &Cursor<'_>) -> Option<Port> {
    keys::check(cursor, KeySection::Port);
    let target = cursor.required("target").and_then(|it| number(&it));
    let host = take(cursor, "published", number);
    let host_ip = take(cursor, "host_ip", |it| {
        let text = it.string()?;
        text.parse().ok().map(|it: IpAddr| it.to_string()).or_else(|| it.mismatch("an IP address"))
    });
    let options = ["tcp", "udp", "sctp"];
    let named = take(cursor, "protocol", |it| it.one_of(&options));
    let protocol = named.and_then(protocol).unwrap_or_default();
    Some(Port { host_ip, host, container: target?, protocol })
}

fn number(cursor: &Cursor<'_>) -> Option<u16> {
    value::port(&cursor.string()?).or_else(|| cursor.mismatch("a port, 1 to 65535"))
}

fn protocol(text: &str) -> Option<Protocol> {
    match text {
        "tcp" => Some(Protocol::Tcp),
        "udp" => Some(Protocol::Udp),
        "sctp" => Some(Protocol::Sctp),
        _ => None,
    }
}

fn short(text: &str) -> Result<Vec<Port>, &'static str> {
    let (ports, protocol) = match text.split_once('/') {
        Some((ports, name)) => (ports, protocol(name).ok_or(SHORT)?),
        None => (text, Protocol::Tcp),
    };
    let (rest, container) = match ports.rsplit_once(':') {
        Some((rest, container)) => (Some(rest), container),
        None => (None, ports),
    };
    let container = range(container).ok_or(SHORT)?;
    let (host_ip, host) = rest.map_or(Ok((None, None)), host)?;
    pair(host, container, |host, container| Port {
        host_ip: host_ip.clone(),
        host,
        container,
        protocol,
    })
}

type Host = (Option<String>, Option<std::ops::RangeInclusive<u16>>);

/// `host`, `address:host` or `address:`, where an IPv6 address stands in brackets.
fn host(text: &str) -> Result<Host, &'static str> {
    let (address, port) = match text.rsplit_once(':') {
        Some((address, port)) => (Some(address), port),
        None => (None, text),
    };
    let address = address.map(|it| {
        let bare = it.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(it);
        bare.parse().map(|it: IpAddr| it.to_string()).map_err(|_| SHORT)
    });
    let host = match (port, &address) {
        ("", Some(_)) => None,
        _ => Some(range(port).ok_or(SHORT)?),
    };
    Ok((address.transpose()?, host))
}

fn pair(
    host: Option<std::ops::RangeInclusive<u16>>,
    container: std::ops::RangeInclusive<u16>,
    port: impl Fn(Option<u16>, u16) -> Port,
) -> Result<Vec<Port>, &'static str> {
    let Some(host) = host else { return Ok(container.map(|it| port(None, it)).collect()) };
    if host.len() != container.len() {
        return Err("as many ports of the host as of the container");
    }
    Ok(host.zip(container).map(|(host, container)| port(Some(host), container)).collect())
}

/// `80`, or `8000-8010`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (value::port(first)?, value::port(last)?);
    (first <= last).then_some(first..=last)
}
