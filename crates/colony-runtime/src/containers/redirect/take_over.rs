//! The beginning of a takeover: new connections go to the staged containers,
//! and the old containers lose their last ones.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;

use tracing::{info, warn};

use super::rules::{Chain, Forward, Link, Redirect};
use super::{pass_loopback, remove, route, showing};
use crate::containers::api::ContainerPlace;
use crate::containers::engine::ContainerEngine;
use crate::containers::survey::ObservedContainer;

/// A container with its place.
struct Placed<'a> {
    seen: &'a ObservedContainer,
    place: ContainerPlace,
}

/// What a takeover opened.
struct Opened {
    ports: BTreeSet<Forward>,
    /// The process of each staged container that has a redirect.
    served_by: Vec<u32>,
}

impl ContainerEngine {
    /// Moves the ports of `old` to `staged` and waits until connections to `old`
    /// have ended. Ports that cannot be moved stay where they are: they move
    /// when the containers stop and start.
    pub(crate) async fn take_over_ports(
        &self,
        old: &[ObservedContainer],
        staged: &[ObservedContainer],
    ) {
        let serving: Vec<&ObservedContainer> = old.iter().filter(|it| it.serves_ports()).collect();
        let ready = |it: &&ObservedContainer| it.serves_ports() && self.is_well(it);
        let ready: Vec<&ObservedContainer> =
            staged.iter().filter(ready).filter(|it| !forwards(it, &serving).is_empty()).collect();
        if ready.is_empty() {
            // So it is with every service that must not run twice.
            return;
        }
        let opened = match self.open_redirects(&serving, &ready).await {
            Ok(opened) => opened,
            Err(why) => {
                warn!("ports move by stop and start: {why}");
                *self.redirects.problem.lock() = Some(why);
                return;
            }
        };
        self.redirects.problem.lock().take();
        let ports: Vec<String> = opened.ports.iter().map(ToString::to_string).collect();
        info!("new connections to {} go to the next version", ports.join(", "));
        let moved = |it: &&ObservedContainer| {
            let mut own = it.care.ports.iter().filter_map(Forward::of);
            own.any(|it| opened.ports.iter().any(|moved| it.is_same_host_port(moved)))
        };
        let drain = staged.iter().map(|it| it.care.drain).max().unwrap_or_default();
        let draining: Vec<ObservedContainer> =
            serving.into_iter().filter(moved).cloned().map(|it| it.with_drain(drain)).collect();
        let alive = || opened.served_by.iter().all(|it| is_alive(*it));
        self.drain(&draining.iter().collect::<Vec<_>>(), alive).await;
        if !alive() {
            warn!("the staged version has ended; the redirect of ports ends");
            self.remove_redirects(staged).await;
        }
    }

    async fn open_redirects(
        &self,
        serving: &[&ObservedContainer],
        ready: &[&ObservedContainer],
    ) -> Result<Opened, String> {
        let (old, new) = (self.placed(serving).await, self.placed(ready).await);
        let of_old = |it: &Placed<'_>| it.place.addresses.clone();
        let addresses: Vec<Ipv4Addr> = old.iter().flat_map(of_old).collect();
        if addresses.is_empty() || new.is_empty() {
            return Err("the engine does not show the addresses of the containers".to_owned());
        }
        let mut known = self.redirects.known.lock().await;
        let (iptables, saved) =
            showing(|it| addresses.iter().any(|address| it.forwards_to(*address))).await?;
        let routes = tokio::fs::read_to_string("/proc/net/route").await;
        let routes = routes.map_err(|it| format!("/proc/net/route: {it}"))?;
        let old: Vec<Placed<'_>> = old
            .into_iter()
            .filter(|it| it.place.addresses.iter().any(|it| saved.forwards_to(*it)))
            .collect();
        let (mut rules, mut chains) = (String::new(), BTreeSet::new());
        let mut opened = Opened { ports: BTreeSet::new(), served_by: Vec::new() };
        for it in &new {
            let Some((to, link)) = linked(&it.place, &routes) else { continue };
            let old: Vec<&ObservedContainer> = old.iter().map(|it| it.seen).collect();
            let forwards = forwards(it.seen, &old);
            if forwards.is_empty() {
                continue;
            }
            let chain = Chain::of(self.scope.identity(), &it.seen.owner);
            let accepting = addresses.iter().flat_map(|it| saved.accepting(*it));
            // Before the first packet is redirected.
            let guarded = pass_loopback(&link.interface, true).await?
                || saved.guarded(&BTreeSet::new()).contains(&*link.interface);
            opened.ports.extend(&forwards);
            opened.served_by.push(it.place.pid);
            chains.insert(chain.clone());
            let accept_in = accepting.collect();
            let redirect = Redirect { chain, to, link, forwards, accept_in, guarded };
            rules.push_str(&saved.open(&redirect));
        }
        if chains.is_empty() {
            return Err("this machine has no direct route to the staged containers".to_owned());
        }
        known.open.extend(chains.iter().map(|it| (it.clone(), iptables.clone())));
        if let Err(why) = iptables.apply(&rules).await {
            // One of the tables may have changed.
            remove(&mut known, &iptables, &chains).await;
            return Err(why);
        }
        Ok(opened)
    }

    async fn placed<'a>(&self, all: &[&'a ObservedContainer]) -> Vec<Placed<'a>> {
        let mut placed = Vec::new();
        for seen in all {
            if let Ok(Some(place)) = self.api.place(&seen.id).await {
                placed.push(Placed { seen, place });
            }
        }
        placed
    }
}

impl ObservedContainer {
    fn with_drain(mut self, drain: std::time::Duration) -> ObservedContainer {
        self.care.drain = drain;
        self
    }
}

/// The ports of a staged container that an old container has.
fn forwards(staged: &ObservedContainer, old: &[&ObservedContainer]) -> Vec<Forward> {
    let before = old.iter().flat_map(|it| &it.care.ports).filter_map(Forward::of);
    let before: Vec<Forward> = before.collect();
    let next = staged.care.ports.iter().filter_map(Forward::of);
    next.filter(|it| before.iter().any(|old| old.is_same_host_port(it))).collect()
}

/// The first address of the container to which this host has a direct route.
fn linked(place: &ContainerPlace, routes: &str) -> Option<(Ipv4Addr, Link)> {
    place.addresses.iter().find_map(|it| Some((*it, route::link_to(routes, *it)?)))
}

fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
