//! Ports of the host move to the next version without a gap.
//!
//! While a version takes over, new connections to the ports that the old one
//! publishes are redirected to the staged containers, by rules in front of the
//! engine's. The old containers are stopped when their connections have ended.
//! When the active containers of the next version are healthy, the redirect
//! ends, and the staged containers are stopped in the same way. Outside of a
//! takeover the engine alone publishes ports.
//!
//! The rules are the only record of a redirect. They outlive the node, and the
//! next look of a node at its containers removes those that lead nowhere.

mod connections;
mod program;
mod route;
mod rules;
mod take_over;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use colony_core::node::Status;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};

use self::program::Iptables;
use self::rules::{Chain, Saved};
use crate::containers::api::ContainerPlace;
use crate::containers::engine::ContainerEngine;
use crate::containers::survey::ObservedContainer;

/// The interval of looks at the connections of a container.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks in a row must find no connection: one may be on its way.
const QUIET_LOOKS: u32 = 3;

/// The redirects of this node.
#[derive(Debug, Default)]
pub(crate) struct Redirects {
    known: Mutex<RedirectTable>,
    /// Why the last takeover could not use any.
    problem: parking_lot::Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct RedirectTable {
    /// The rules that an earlier process left behind are known.
    scanned: bool,
    open: BTreeMap<Chain, Iptables>,
}

impl Redirects {
    /// What the last takeover had to work without.
    pub(crate) fn problem(&self) -> Option<String> {
        let why = self.problem.lock().clone()?;
        Some(format!("the last takeover moved ports by stop and start: {why}"))
    }
}

impl ContainerEngine {
    /// Ends redirects to containers that no longer run, or run elsewhere.
    /// `seen` is all containers of this node.
    pub(crate) async fn settle_redirects(&self, seen: &[ObservedContainer]) {
        let mut known = self.redirects.known.lock().await;
        if !known.scanned {
            known.open = self.scan().await;
            known.scanned = true;
        }
        let mut ended: BTreeMap<Chain, Iptables> = BTreeMap::new();
        for (chain, iptables) in &known.open {
            if !self.is_served(chain, iptables, seen).await {
                ended.insert(chain.clone(), iptables.clone());
            }
        }
        for (chain, iptables) in ended {
            info!("a redirect of ports ends: its staged container is gone");
            remove(&mut known, &iptables, &BTreeSet::from([chain])).await;
        }
    }

    /// The redirects that an earlier process of this node left behind.
    async fn scan(&self) -> BTreeMap<Chain, Iptables> {
        let mut found = BTreeMap::new();
        let prefixes: Vec<String> = self.scope.identities().map(Chain::prefix).collect();
        for iptables in Iptables::variants() {
            match iptables.save().await {
                Ok(saved) => {
                    let own = prefixes.iter().flat_map(|it| saved.redirects(it));
                    found.extend(own.map(|it| (it, iptables.clone())));
                }
                Err(why) => debug!("redirects of ports cannot be seen: {why}"),
            }
        }
        found
    }

    async fn is_served(
        &self,
        chain: &Chain,
        iptables: &Iptables,
        seen: &[ObservedContainer],
    ) -> bool {
        let own = |it: &&ObservedContainer| it.owner.staged && self.chains(it).contains(chain);
        let Some(staged) = seen.iter().find(own) else { return false };
        if staged.status != Status::Running {
            return false;
        }
        let (Ok(Some(place)), Ok(saved)) =
            (self.api.place(&staged.id).await, iptables.save().await)
        else {
            // Nothing is known, so nothing changes.
            return true;
        };
        // Rules that something else has removed lead nowhere either.
        saved.target(chain).is_none_or(|it| place.addresses.contains(&it))
    }

    /// The names that the redirect to a container has under the identities of
    /// this node; the first is the present one.
    fn chains(&self, staged: &ObservedContainer) -> BTreeSet<Chain> {
        self.scope.identities().map(|it| Chain::of(it, &staged.owner)).collect()
    }

    /// New connections go to the active containers again; established ones of
    /// the staged containers last until they end, or until the drain time is
    /// over. Followed by `remove_redirects`.
    pub(crate) async fn return_ports(&self, staged: &[ObservedContainer]) {
        let publishing: Vec<&ObservedContainer> =
            staged.iter().filter(|it| it.serves_ports()).collect();
        if publishing.is_empty() {
            return;
        }
        {
            let known = self.redirects.known.lock().await;
            for it in &publishing {
                for chain in self.chains(it) {
                    let Some(iptables) = known.open.get(&chain) else { continue };
                    let closed = match iptables.save().await {
                        Ok(saved) => iptables.apply(&saved.close(&chain)).await,
                        Err(why) => Err(why),
                    };
                    if let Err(why) = closed {
                        warn!("could not end the redirect of ports: {why}");
                    }
                }
            }
        }
        self.drain(&publishing, || true).await;
    }

    /// Removes what is left of the redirects to these containers.
    pub(crate) async fn remove_redirects(&self, staged: &[ObservedContainer]) {
        let mut known = self.redirects.known.lock().await;
        let own: BTreeSet<Chain> = staged.iter().flat_map(|it| self.chains(it)).collect();
        let open = known.open.iter().filter(|it| own.contains(it.0));
        let open: Vec<(Chain, Iptables)> =
            open.map(|(chain, iptables)| (chain.clone(), iptables.clone())).collect();
        for (chain, iptables) in open {
            remove(&mut known, &iptables, &BTreeSet::from([chain])).await;
        }
    }

    /// Waits until no connection from outside uses the published ports of these
    /// containers, at most for the longest of their drain times, and as long as
    /// `go_on`.
    async fn drain(&self, containers: &[&ObservedContainer], go_on: impl Fn() -> bool) {
        let Some(first) = containers.first() else { return };
        let limit = containers.iter().map(|it| it.care.drain).max().unwrap_or_default();
        let siblings = self.siblings(first).await;
        let mut looks = Vec::new();
        for it in containers {
            if let Ok(Some(place)) = self.api.place(&it.id).await {
                looks.push((place, it.tcp_ports()));
            }
        }
        let until = Instant::now() + limit;
        let mut quiet = 0;
        loop {
            let mut open = 0;
            for (place, ports) in &looks {
                open += connections(place, ports, &siblings).await;
            }
            quiet = if open == 0 { quiet + 1 } else { 0 };
            if quiet >= QUIET_LOOKS || !go_on() {
                return;
            }
            if Instant::now() >= until {
                info!("{open} connections did not end within the drain time of {limit:?}");
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// The addresses of all containers of the deployment on the side of this
    /// one: connections between them end with the version.
    async fn siblings(&self, of: &ObservedContainer) -> BTreeSet<IpAddr> {
        let seen = self.survey(Some(&of.owner.deployment)).await.unwrap_or_default();
        let mut addresses = BTreeSet::new();
        for it in seen.iter().filter(|it| it.owner.staged == of.owner.staged) {
            if let Ok(Some(place)) = self.api.place(&it.id).await {
                addresses.extend(place.addresses.into_iter().map(IpAddr::from));
            }
        }
        addresses
    }
}

impl ObservedContainer {
    /// It runs, and has ports of the host, or would have if it were active.
    fn serves_ports(&self) -> bool {
        self.status == Status::Running && !self.care.ports.is_empty()
    }

    /// The published ports of the container.
    fn tcp_ports(&self) -> BTreeSet<u16> {
        let ports = self.care.ports.iter().filter_map(rules::Forward::of);
        ports.filter(rules::Forward::is_tcp).map(|it| it.container).collect()
    }
}

/// The open connections of a container; none if it has ended.
async fn connections(
    place: &ContainerPlace,
    ports: &BTreeSet<u16>,
    siblings: &BTreeSet<IpAddr>,
) -> usize {
    let mut open = 0;
    for table in ["tcp", "tcp6"] {
        let path = format!("/proc/{}/net/{table}", place.pid);
        let text = tokio::fs::read_to_string(path).await.unwrap_or_default();
        open += connections::count(&text, ports, siblings);
    }
    open
}

/// Removes redirects and forgets them. What cannot be removed is tried again at
/// the next look.
async fn remove(known: &mut RedirectTable, iptables: &Iptables, chains: &BTreeSet<Chain>) {
    let removed = async {
        let saved = iptables.save().await?;
        let rules: String = chains.iter().map(|it| saved.remove(it)).collect();
        iptables.apply(&rules).await?;
        let others = saved.guarded(chains);
        for interface in chains.iter().filter_map(|it| saved.interface(it)) {
            // The interface may have gone with its network.
            if !others.contains(interface)
                && let Err(why) = pass_loopback(interface, false).await
            {
                debug!("{why}");
            }
        }
        Ok::<(), String>(())
    };
    match removed.await {
        Ok(()) => known.open.retain(|it, _| !chains.contains(it)),
        Err(why) => warn!("could not remove the redirect of ports: {why}"),
    }
}

/// Lets packets for loopback addresses pass an interface, or not; whether that
/// changed anything.
async fn pass_loopback(interface: &str, pass: bool) -> Result<bool, String> {
    let path = PathBuf::from(format!("/proc/sys/net/ipv4/conf/{interface}/route_localnet"));
    let failed = |it: std::io::Error| format!("{}: {it}", path.display());
    let value: &[u8] = if pass { b"1\n" } else { b"0\n" };
    if tokio::fs::read(&path).await.map_err(failed)? == value {
        return Ok(false);
    }
    tokio::fs::write(&path, value).await.map_err(failed).map(|()| true)
}

/// What one variant of the program shows.
async fn showing(shows: impl Fn(&Saved) -> bool) -> Result<(Iptables, Saved), String> {
    let mut why = "the program `iptables` is not installed".to_owned();
    for iptables in Iptables::variants() {
        match iptables.save().await {
            Ok(saved) if shows(&saved) => return Ok((iptables, saved)),
            Ok(_) => "iptables does not show the rules of the engine".clone_into(&mut why),
            Err(error) => why = error,
        }
    }
    Err(why)
}
