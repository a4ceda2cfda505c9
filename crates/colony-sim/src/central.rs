//! stub
use colony_core::event::{Event, Incarnation};
use colony_core::id::SiteName;
use colony_core::site::{Action, Input, Seed};
use std::collections::BTreeMap;
use crate::network::{Happening, ToCentral, ToLocal};
use crate::world::World;
#[derive(Debug)]
pub struct Central { logs: BTreeMap<usize, Vec<Event>> }
impl Central { pub fn new() -> Central { Central { logs: BTreeMap::new() } } }
impl World {
    pub(crate) fn central_join(&mut self, _n: &SiteName, _r: bool) -> Option<Incarnation> { Some(0) }
    pub(crate) fn local_seed(&mut self, site: usize) {
        let log = self.sites[site].core.log().clone();
        self.checker.begin(site, log, BTreeMap::new());
        self.local_step(site, Input::Seed(Box::new(Seed::default())));
    }
    pub(crate) fn central_receive(&mut self, site: usize, m: ToCentral) {
        if let ToCentral::Events { incarnation, events } = m {
            let log = self.central.logs.entry(site).or_default();
            for e in events { if e.seq == log.len() as u64 + 1 { log.push(e); } }
            let next = log.len() as u64 + 1;
            self.send_far(site, Happening::ToLocal { site, message: ToLocal::EventsTaken { incarnation, next } });
        }
    }
    pub(crate) fn central_work(&mut self) {}
    pub(crate) fn central_up(&mut self) {}
    pub(crate) fn central_crash(&mut self, _: &str) {}
    pub(crate) fn central_command(&mut self, site: usize, action: Action) { if self.sites[site].process.up { self.local_command(site, action) } }
    pub(crate) fn central_unfinished(&self, _site: usize) -> Option<String> { None }
    pub(crate) fn replace_local(&mut self, _site: usize) {}
}
