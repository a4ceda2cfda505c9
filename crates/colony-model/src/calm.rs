//! The faults stop: what follows is decided, and must end as wanted.
//!
//! Everything under way is lost, nobody dies, nobody interferes. Nodes poll,
//! report and work, sites and centre talk, and time passes from timer to timer.
//! The world must come to rest: every placement as wanted, failed for good by
//! its revision, or held back by a step; devices and centre in agreement.

use std::collections::HashSet;
use std::sync::Mutex;

use colony_core::site::Placement;
use colony_core::state::{Op, State};
use colony_core::why;

use crate::check::{Rule, Verdict};
use crate::message::{Out, Up};
use crate::world::World;

/// More rounds than any sound world needs.
const ROUNDS: u32 = 60;
/// So many rounds a world that has come to rest is watched.
const WATCH: u32 = 6;

/// What is known to converge.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<HashSet<u64>>);

impl Memo {
    fn has(&self, print: u64) -> bool {
        self.0.lock().is_ok_and(|it| it.contains(&print))
    }

    fn add(&self, prints: Vec<u64>) {
        if let Ok(mut known) = self.0.lock() {
            known.extend(prints);
        }
    }
}

impl World {
    /// Comes to rest, or says why not.
    pub(crate) fn calm_down(&mut self) -> Verdict {
        self.converge(&Memo::default())
    }

    /// The same, stopping where a world came by that is known to converge.
    pub(crate) fn converge(&mut self, memo: &Memo) -> Verdict {
        self.lose_everything();
        self.begin_all();
        if self.interrupted {
            self.replace_local();
        }
        let mut met = Vec::new();
        for _ in 0..ROUNDS {
            self.refresh();
            let standing = self.standing();
            if memo.has(standing) {
                memo.add(met);
                return Ok(());
            }
            met.push(standing);
            if self.unfinished().is_none() {
                self.watch()?;
                self.check_rest()?;
                memo.add(met);
                return Ok(());
            }
            self.round();
            self.pass();
            self.sound()?;
        }
        Err((Rule::Converges, self.excuse()))
    }

    fn lose_everything(&mut self) {
        self.up.iter_mut().for_each(|it| it.clear());
        self.down.iter_mut().for_each(|it| it.clear());
        self.out.clear();
        self.back.clear();
    }

    /// What has come to rest stays so.
    fn watch(&mut self) -> Verdict {
        for _ in 0..WATCH {
            self.round();
            self.pass();
            self.round();
            self.sound()?;
            if let Some(what) = self.unfinished() {
                return Err((Rule::Converges, format!("it was at rest, and then: {what}")));
            }
        }
        Ok(())
    }

    fn sound(&self) -> Verdict {
        let broken = self.broken.as_ref();
        broken.map_or(Ok(()), |it| Err((it.rule, it.what.clone())))
    }

    /// Everybody does what there is to do, and every message arrives.
    fn round(&mut self) {
        if self.lacks_seed() {
            self.local_seed();
        }
        self.local_fetch();
        self.former_is_fenced();
        for node in 0..self.nodes.len() {
            while self.broken.is_none() && !self.nodes[node].doing.is_empty() {
                self.engine_done(node, 0);
            }
            self.talk(node);
        }
        if self.is_prompt() {
            self.central_take_all();
        } else {
            self.talk_to_centre();
        }
        self.reverted |= self.central_revert();
    }

    /// A node introduces itself if it has to, polls, and reports.
    pub(crate) fn talk(&mut self, node: usize) {
        let call = self.edge_poll(node);
        self.exchange(node, &call);
        if matches!(call, Up::Hello) {
            let call = self.edge_poll(node);
            self.exchange(node, &call);
        }
        for report in self.edge_reports(node) {
            self.exchange(node, &report);
        }
    }

    fn exchange(&mut self, node: usize, call: &Up) {
        self.local_receive(node, call);
        while let Some(letter) = self.down[node].take(0, false) {
            self.edge_receive(node, &letter.text);
        }
    }

    fn talk_to_centre(&mut self) {
        for _ in 0..ROUNDS {
            let Some(news) = self.local_news() else { break };
            self.central_receive(&news);
            self.hear_centre();
        }
        self.central_receive(&Out::CommandsPlease);
        self.hear_centre();
    }

    fn hear_centre(&mut self) {
        while let Some(letter) = self.back.take(0, false) {
            self.local_hear_centre(&letter.text);
        }
    }

    /// The first thing that is not as it should be.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let core = &self.local.core;
        if !core.is_ready() || core.git() != Some(&self.git.head()) {
            return Some("the site is not at Git's head".to_owned());
        }
        if let Some(member) = core.members().find(|it| !it.is_online()) {
            return Some(format!("node {} is {:?}", member.name, member.presence()));
        }
        if let Some(open) = core.placements().find(|it| !self.is_settled(it)) {
            return Some(format!("node {} is {}", open.id.node, open.state()));
        }
        if self.central.next(self.local.incarnation()) <= self.local.log.len() as u64 {
            return Some("the centre has not heard everything".to_owned());
        }
        if !self.is_prompt() && !self.central.core.commands_open(&self.site).is_empty() {
            return Some("the site has not heard of an order".to_owned());
        }
        (0..self.nodes.len()).find_map(|it| self.node_unfinished(it))
    }

    /// As wanted, failed for good by the revision's own fault, or held back
    /// until an operator opens the next step.
    fn is_settled(&self, placement: &Placement) -> bool {
        let Some(deployment) = self.local.core.deployment(&placement.id.deployment) else {
            return false;
        };
        let held = self.awaits_promotion();
        match placement.state() {
            State::Pending | State::Installed if held => true,
            State::Updating => held && placement.is_aside(),
            State::Installed => {
                let target = placement.revisions.target.as_ref().map(|it| it.workload);
                deployment.effective().map(|it| it.workload) == target
            }
            State::Failed(op) => {
                let spent = placement.retry_at().is_none() && placement.tries() > 0;
                op != Op::Delete && spent && placement.failure.is_some()
            }
            State::Pending
            | State::Installing
            | State::RollingBack
            | State::Unknown(_)
            | State::Deleting
            | State::Deleted => false,
        }
    }

    /// What runs on the device is what the site believes.
    fn node_unfinished(&self, node: usize) -> Option<String> {
        let (edge, id) = (&self.nodes[node], self.deployment());
        let mut own = self.local.core.placements().filter(|it| it.id.node == edge.name);
        let Some(own) = own.next() else {
            return edge.engine.has(&id).then(|| format!("node {} still has it", edge.name));
        };
        if own.state() != State::Installed {
            return None;
        }
        let target = own.revisions.target.as_ref().and_then(|it| self.git.text(&it.blob));
        let target = target.unwrap_or_default();
        let wanted = crate::words::revision(&target);
        let runs = edge.engine.running(&id);
        (runs != wanted).then(|| format!("node {} runs {runs:?}, not {wanted:?}", edge.name))
    }

    fn excuse(&self) -> String {
        let what = self.unfinished().unwrap_or_default();
        let now = self.local.clock.at_site(self.now);
        let core = &self.local.core;
        let reasons = core.placements().filter_map(|it| why::placement(core, &it.id, now));
        let reasons: Vec<String> = reasons.map(|it| it.text(now.wall)).collect();
        format!("{what}; {}", reasons.join("; "))
    }
}
