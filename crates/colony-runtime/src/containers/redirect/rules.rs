//! The rules of redirects, as text of `iptables-save` and for
//! `iptables-restore`. Pure.
//!
//! A redirect has two chains in the table `nat`: one changes the destination of
//! new connections, the other the source of those that could not be answered
//! otherwise. Both are named after the node and the service, so a node finds
//! its own again after a crash. Rules in chains of others name the chain in
//! their comment.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::net::Ipv4Addr;

use colony_core::margo::Digest;

use crate::compose::{Port, Protocol};
use crate::containers::label::Owner;

/// Names of chains have at most 28 characters.
const MARK: usize = 8;
const SOURCE: &str = "-M";

/// The chain of a redirect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chain(String);

/// New connections to ports of the host go to one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) chain: Chain,
    pub(super) to: Ipv4Addr,
    pub(super) link: Link,
    pub(super) forwards: Vec<Forward>,
    /// Chains of the engine's firewall that accept packets for the container
    /// that is replaced.
    pub(super) accept_in: BTreeSet<String>,
    /// The interface did not let loopback addresses pass before.
    pub(super) guarded: bool,
}

/// The bridge between the host and a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) interface: String,
    pub(super) subnet: Ipv4Addr,
    pub(super) prefix: u32,
}

/// One port of the host, and the port of the container behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Forward {
    protocol: &'static str,
    /// `None` is every address of the host.
    address: Option<Ipv4Addr>,
    pub(super) host: u16,
    pub(super) container: u16,
}

/// What `iptables-save` printed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    rules: Vec<Rule>,
    chains: BTreeSet<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    nat: bool,
    chain: String,
    /// What follows the chain.
    text: String,
}

impl Chain {
    pub(super) fn of(identity: &str, owner: &Owner) -> Chain {
        let Owner { deployment, component, service, .. } = owner;
        let of = mark(&format!("{deployment}\n{component}\n{service}"));
        Chain(format!("{}{of}", Chain::prefix(identity)))
    }

    /// With what the names of a node's chains begin.
    pub(super) fn prefix(identity: &str) -> String {
        format!("COLONY-{}-", mark(identity))
    }

    fn source(&self) -> String {
        format!("{self}{SOURCE}")
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn mark(of: &str) -> String {
    Digest::of(of.as_bytes()).hex().chars().take(MARK).collect()
}

impl Forward {
    /// `None` for a port that moves by stop and start: IPv6, SCTP, and one that
    /// the engine chooses.
    pub(super) fn of(port: &Port) -> Option<Forward> {
        let protocol = match port.protocol {
            Protocol::Tcp | Protocol::Udp => port.protocol.as_str(),
            Protocol::Sctp => return None,
        };
        let address: Option<Ipv4Addr> = match &port.host_ip {
            None => None,
            Some(text) => Some(text.parse().ok()?),
        };
        let address = address.filter(|it| !it.is_unspecified());
        Some(Forward { protocol, address, host: port.host?, container: port.container })
    }

    /// Both take the same port of the host.
    pub(super) fn is_same_host_port(&self, other: &Forward) -> bool {
        let port = |it: &Forward| (it.protocol, it.address, it.host);
        port(self) == port(other)
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.protocol == Protocol::Tcp.as_str()
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.protocol)
    }
}

impl Saved {
    pub(super) fn parse(text: &str) -> Saved {
        let (mut saved, mut table) = (Saved::default(), "");
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('*') {
                table = name.trim();
            }
            let nat = table == "nat";
            if !nat && table != "filter" {
                continue;
            }
            if let Some(chain) = line.strip_prefix(':').filter(|_| nat) {
                let name = chain.split(' ').next().unwrap_or_default();
                saved.chains.insert(name.to_owned());
            }
            if let Some((chain, text)) = line.strip_prefix("-A ").and_then(|it| it.split_once(' '))
            {
                let (chain, text) = (chain.to_owned(), text.to_owned());
                saved.rules.push(Rule { nat, chain, text });
            }
        }
        saved
    }

    /// Whether something other than a redirect forwards connections to the
    /// container.
    pub(super) fn forwards_to(&self, container: Ipv4Addr) -> bool {
        let theirs = self.rules.iter().filter(|it| it.nat && !it.chain.starts_with("COLONY-"));
        theirs.filter_map(|it| it.value("--to-destination")).any(|it| {
            let address = it.split_once(':').map_or(it, |it| it.0);
            address.parse() == Ok(container)
        })
    }

    /// The chains of the firewall that accept packets for the container.
    pub(super) fn accepting(&self, container: Ipv4Addr) -> BTreeSet<String> {
        let to = format!("{container}/32");
        let accepts =
            |it: &&Rule| !it.nat && it.value("-d") == Some(&to) && it.value("-j") == Some("ACCEPT");
        self.rules.iter().filter(accepts).map(|it| it.chain.clone()).collect()
    }

    /// The redirects whose chains have this prefix.
    pub(super) fn redirects(&self, prefix: &str) -> BTreeSet<Chain> {
        let own = self.chains.iter().filter(|it| it.starts_with(prefix));
        own.map(|it| Chain(it.strip_suffix(SOURCE).unwrap_or(it).to_owned())).collect()
    }

    /// Where a redirect leads.
    pub(super) fn target(&self, chain: &Chain) -> Option<Ipv4Addr> {
        let source = chain.source();
        let mut own = self.rules.iter().filter(|it| it.nat && it.chain == source);
        own.find_map(|it| it.value("-d")?.strip_suffix("/32")?.parse().ok())
    }

    /// The interfaces that let loopback addresses pass for redirects other than
    /// these.
    pub(super) fn guarded(&self, without: &BTreeSet<Chain>) -> BTreeSet<&str> {
        let others = |it: &&Rule| !without.iter().any(|chain| it.belongs_to(chain));
        self.guards().filter(others).filter_map(|it| it.value("-i")).collect()
    }

    /// The interface that lets loopback addresses pass for the redirect.
    pub(super) fn interface(&self, chain: &Chain) -> Option<&str> {
        self.guards().find(|it| it.belongs_to(chain)).and_then(|it| it.value("-i"))
    }

    fn guards(&self) -> impl Iterator<Item = &Rule> {
        let ours = |it: &&Rule| it.value("--comment").is_some_and(|it| it.starts_with("COLONY-"));
        self.rules.iter().filter(|it| !it.nat && it.chain == "INPUT").filter(ours)
    }

    /// Rules in chains of others that belong to the redirect.
    fn mentions(&self, chain: &Chain) -> impl Iterator<Item = &Rule> {
        let names = [chain.to_string(), chain.source()];
        self.rules.iter().filter(move |it| !names.contains(&it.chain) && it.belongs_to(chain))
    }

    /// Sets up the redirect in place of an earlier one with its name.
    pub(super) fn open(&self, redirect: &Redirect) -> String {
        let Redirect { chain, to, link, forwards, accept_in, guarded } = redirect;
        let source = chain.source();
        let (mut nat, mut filter) = (self.deletions(chain, true), self.deletions(chain, false));
        let _ = writeln!(nat, ":{chain} - [0:0]\n:{source} - [0:0]");
        for it in forwards {
            let only = it.address.map(|it| format!("-d {it}/32 ")).unwrap_or_default();
            let Forward { protocol, host, container, .. } = it;
            let _ = writeln!(
                nat,
                "-A {chain} {only}-p {protocol} -m {protocol} --dport {host} -j DNAT \
                 --to-destination {to}:{container}"
            );
            // Neither loopback addresses nor those of its own network would
            // come back through this host.
            for from in ["127.0.0.0/8".to_owned(), format!("{}/{}", link.subnet, link.prefix)] {
                let _ = writeln!(
                    nat,
                    "-A {source} -s {from} -d {to}/32 -p {protocol} -m {protocol} \
                     --dport {container} -j MASQUERADE"
                );
            }
            for engine in accept_in {
                let _ = writeln!(
                    filter,
                    "-I {engine} 1 -d {to}/32 -p {protocol} -m {protocol} --dport {container} \
                     -m conntrack --ctstate DNAT -m comment --comment {chain} -j ACCEPT"
                );
            }
        }
        for hook in ["PREROUTING", "OUTPUT"] {
            let _ = writeln!(nat, "-I {hook} 1 -m addrtype --dst-type LOCAL -j {chain}");
        }
        let _ = writeln!(nat, "-I POSTROUTING 1 -j {source}");
        // The interface lets packets for loopback addresses pass meanwhile:
        // only answers may use that.
        if *guarded {
            let _ = writeln!(
                filter,
                "-I INPUT 1 -i {} -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED \
                 -m comment --comment {chain} -j DROP",
                link.interface
            );
        }
        tables(&nat, &filter)
    }

    /// Ends the redirect of new connections; established ones stay.
    pub(super) fn close(&self, chain: &Chain) -> String {
        let name = chain.to_string();
        if !self.chains.contains(&name) {
            return String::new();
        }
        let jumps = self.mentions(chain).filter(|it| it.nat && it.value("-j") == Some(&name));
        let jumps: String = jumps.map(Rule::deletion).collect();
        tables(&format!("{jumps}-F {name}\n-X {name}\n"), "")
    }

    /// Removes all that is left of the redirect.
    pub(super) fn remove(&self, chain: &Chain) -> String {
        let mut nat = self.deletions(chain, true);
        for name in [chain.to_string(), chain.source()] {
            if self.chains.contains(&name) {
                let _ = writeln!(nat, "-F {name}\n-X {name}");
            }
        }
        tables(&nat, &self.deletions(chain, false))
    }

    fn deletions(&self, chain: &Chain, nat: bool) -> String {
        self.mentions(chain).filter(|it| it.nat == nat).map(Rule::deletion).collect()
    }
}

impl Rule {
    /// The word after an option.
    fn value(&self, option: &str) -> Option<&str> {
        let mut words = self.text.split(' ');
        words.find(|it| *it == option)?;
        words.next()
    }

    fn belongs_to(&self, chain: &Chain) -> bool {
        let source = chain.source();
        self.text.split([' ', '"']).any(|it| it == chain.0 || it == source)
    }

    fn deletion(&self) -> String {
        format!("-D {} {}\n", self.chain, self.text)
    }
}

/// Each table changes at once.
fn tables(nat: &str, filter: &str) -> String {
    // The firewall accepts packets before they are redirected.
    let all = [("filter", filter), ("nat", nat)];
    let all = all.into_iter().filter(|it| !it.1.is_empty());
    all.map(|(name, lines)| format!("*{name}\n{lines}COMMIT\n")).collect()
}
