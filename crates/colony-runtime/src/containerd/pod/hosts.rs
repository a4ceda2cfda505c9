//! The names that a pod resolves: its file `/etc/hosts`.
//!
//! A service finds the others of its deployment that share a network with it,
//! under the names they have there. The file is written again when a pod with
//! a new address appears.

use std::collections::{BTreeMap, BTreeSet};

/// The networks of a pod, with its names there.
pub(in crate::containerd) type Networks = BTreeMap<String, Vec<String>>;

/// A pod that others may look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::containerd) struct Neighbour {
    pub(in crate::containerd) uid: String,
    pub(in crate::containerd) address: String,
    pub(in crate::containerd) hostname: String,
    pub(in crate::containerd) networks: Networks,
    /// `name:address`.
    pub(in crate::containerd) extra: Vec<String>,
}

/// The content of the file of `pod`, which follows `base`.
pub(in crate::containerd) fn content(base: &str, pod: &Neighbour, all: &[Neighbour]) -> String {
    let mut text = base.to_owned();
    let mut line = |address: &str, names: &str| text.push_str(&format!("{address}\t{names}\n"));
    line(&pod.address, &pod.hostname);
    for extra in &pod.extra {
        if let Some((name, address)) = extra.split_once(':') {
            line(address, name);
        }
    }
    for other in all {
        let shared = other.networks.iter().filter(|it| pod.networks.contains_key(it.0));
        let names: BTreeSet<&str> = shared.flat_map(|it| it.1).map(String::as_str).collect();
        if !names.is_empty() && !other.address.is_empty() {
            line(&other.address, &names.into_iter().collect::<Vec<_>>().join(" "));
        }
    }
    text
}

/// The beginning of the file of a pod with a network of its own.
pub(in crate::containerd) const LOOPBACK: &str =
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_find_those_that_share_a_network() {
        let web = pod("10.1.0.2", "web", &[("front", "web"), ("back", "site")]);
        let db = pod("10.1.0.3", "db", &[("back", "db")]);
        let proxy = pod("10.1.0.4", "proxy", &[("front", "proxy")]);
        let all = [web.clone(), db.clone(), proxy];
        check(&web, &all, "10.1.0.2 web|10.1.0.2 site web|10.1.0.3 db|10.1.0.4 proxy");
        check(&db, &all, "10.1.0.3 db|10.1.0.2 site web|10.1.0.3 db");
    }

    #[test]
    fn extra_hosts_may_have_addresses_with_colons() {
        let mut web = pod("10.1.0.2", "web", &[]);
        web.extra = vec!["plc:192.0.2.7".to_owned(), "six:2001:db8::1".to_owned()];
        check(&web, &[], "10.1.0.2 web|192.0.2.7 plc|2001:db8::1 six");
    }

    fn pod(address: &str, hostname: &str, networks: &[(&str, &str)]) -> Neighbour {
        let networks = networks.iter().map(|it| {
            let aliases = BTreeSet::from([it.1, hostname]);
            (it.0.to_owned(), aliases.into_iter().map(str::to_owned).collect())
        });
        Neighbour {
            uid: hostname.to_owned(),
            address: address.to_owned(),
            hostname: hostname.to_owned(),
            networks: networks.collect(),
            extra: Vec::new(),
        }
    }

    #[track_caller]
    fn check(pod: &Neighbour, all: &[Neighbour], expected: &str) {
        let text = content("", pod, all).replace('\t', " ");
        assert_eq!(text.trim_end().replace('\n', "|"), expected);
    }
}
