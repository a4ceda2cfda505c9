//! The addresses at which nodes reach the site.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use colony_wfm::host_of;

/// The URLs for nodes: the advertised ones, or one from the listen address.
pub(crate) fn urls(advertise: &[String], listening: SocketAddr) -> Vec<String> {
    if advertise.is_empty() {
        return vec![url(&host_of(listening.ip()), listening.port())];
    }
    advertise.iter().map(|it| complete(it, listening.port())).collect()
}

/// The hosts of the URLs, for the certificate.
pub(crate) fn hosts(urls: &[String]) -> Vec<String> {
    let mut hosts: Vec<String> = urls.iter().filter_map(|it| host(it)).collect();
    hosts.extend(["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string()]);
    hosts.sort();
    hosts.dedup();
    hosts
}

fn complete(text: &str, port: u16) -> String {
    if text.contains("://") {
        return text.trim_end_matches('/').to_owned();
    }
    match text.parse::<IpAddr>() {
        Ok(address) => url(&address.to_string(), port),
        Err(_) if text.rsplit_once(':').is_some_and(|it| it.1.parse::<u16>().is_ok()) => {
            format!("https://{text}")
        }
        Err(_) => url(text, port),
    }
}

fn url(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("https://[{host}]:{port}"),
        false => format!("https://{host}:{port}"),
    }
}

fn host(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
    Some(host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_advertised_becomes_urls() {
        check("plant-b.example", "https://plant-b.example:7444");
        check("plant-b.example:9000", "https://plant-b.example:9000");
        check("https://plant-b.example:443/", "https://plant-b.example:443");
        check("10.0.0.7", "https://10.0.0.7:7444");
        check("fd00::7", "https://[fd00::7]:7444");
    }

    #[test]
    fn without_a_word_it_is_where_we_listen() {
        let listening = SocketAddr::from(([127, 0, 0, 1], 7444));
        assert_eq!(urls(&[], listening), ["https://127.0.0.1:7444"]);
    }

    #[test]
    fn the_certificate_names_every_host_once() {
        let urls = ["https://a.example:1".to_owned(), "https://[fd00::7]:2".to_owned()];
        assert_eq!(hosts(&urls), ["127.0.0.1", "a.example", "fd00::7", "localhost"]);
    }

    #[track_caller]
    fn check(advertised: &str, expected: &str) {
        let listening = SocketAddr::from(([0, 0, 0, 0], 7444));
        assert_eq!(urls(&[advertised.to_owned()], listening), [expected]);
    }
}
