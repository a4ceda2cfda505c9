//! The faults stop: what follows is deterministic, and must converge.
//!
//! All messages on the lines are lost, no process dies and no operator acts.
//! Nodes poll, report and work, the site and the central orchestrator exchange
//! messages, and time passes from timer to timer. The world must come to rest:
//! every placement as wanted, permanently failed by its revision, or held back
//! by a step; devices and central orchestrator agree with the site.

use std::collections::HashSet;
use std::sync::Mutex;

use colony_core::site::Placement;
use colony_core::state::{Op, State};
use colony_core::why;
use colony_world::{LocalShell, NodeShell, ToLocal};

use crate::check::{Rule, Verdict};
use crate::world::{LOCAL, World};

/// More rounds than any correct world needs.
const ROUNDS: u32 = 60;
/// For how many rounds a world at rest is watched.
const WATCH: u32 = 6;

/// The states that are known to converge.
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
    /// Runs until the world is at rest, or returns why it is not.
    pub(crate) fn calm_down(&mut self) -> Verdict {
        self.converge(&Memo::default())
    }

    /// The same, but stops at a state that is known to converge.
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

    /// A world at rest stays at rest.
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

    /// Every role does its pending work, and every message arrives.
    fn round(&mut self) {
        if self.lacks_seed() {
            self.seed();
        }
        self.local_fetch(LOCAL);
        self.former_is_fenced();
        for node in 0..self.roles.nodes.len() {
            while self.broken.is_none() && !self.doing[node].is_empty() {
                self.engine_done(node, 0);
            }
            self.talk(node);
        }
        if self.is_prompt() {
            self.central_take_all();
        } else {
            self.talk_to_central(ROUNDS);
        }
        self.reverted |= self.central_revert();
    }

    /// A node introduces itself if necessary, polls, and reports.
    pub(crate) fn talk(&mut self, node: usize) {
        let call = self.node_calls(node);
        let greets = matches!(call, ToLocal::Capabilities { .. });
        self.exchange(node, call);
        if greets {
            let call = self.node_calls(node);
            self.exchange(node, call);
        }
        for report in self.reports(node) {
            self.exchange(node, report);
        }
    }

    fn exchange(&mut self, node: usize, call: ToLocal) {
        self.local_receive(LOCAL, call);
        while let Some(letter) = self.down[node].take(0, false) {
            self.node_receive(node, letter.text.clone());
        }
    }

    /// The first condition that does not hold.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let core = &self.local().core;
        if !core.is_ready() || core.git() != Some(self.roles.git.head()) {
            return Some("the site is not at Git's head".to_owned());
        }
        if let Some(site_node) = core.site_nodes().find(|it| !it.is_online()) {
            return Some(format!("node {} is {:?}", site_node.name, site_node.presence()));
        }
        if let Some(open) = core.placements().find(|it| !self.is_settled(it)) {
            return Some(format!("node {} is {}", open.id.node, open.state()));
        }
        if self.roles.central.next(&self.site, self.local().incarnation)
            <= self.local().log.len() as u64
        {
            return Some("central has not received every event".to_owned());
        }
        if !self.is_prompt() && !self.roles.central.core.commands_open(&self.site).is_empty() {
            return Some("the site has not heard of an order".to_owned());
        }
        (0..self.roles.nodes.len()).find_map(|it| self.node_unfinished(it))
    }

    /// As wanted, permanently failed by the revision's own fault, or held back
    /// until an operator opens the next step.
    fn is_settled(&self, placement: &Placement) -> bool {
        let Some(deployment) = self.local().core.deployment(&placement.id.deployment) else {
            return false;
        };
        let held = self.awaits_promotion();
        match placement.state() {
            State::Pending | State::Installed if held => true,
            State::Updating => held && placement.staging().active_runs(),
            State::Installed => {
                let target = placement.revisions.target.as_ref().map(|it| it.workload);
                deployment.effective().map(|it| it.workload) == target
            }
            State::Failed(op) => {
                let spent = placement.retry_at().is_none() && placement.revision_errors() > 0;
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

    /// The device runs the version that the site believes it runs.
    fn node_unfinished(&self, node: usize) -> Option<String> {
        let (device, id) = (&self.roles.nodes[node], self.deployment());
        let mut own = self.local().core.placements().filter(|it| it.id.node == device.name);
        let Some(own) = own.next() else {
            return device
                .engine
                .deployments()
                .contains(&id)
                .then(|| format!("node {} still has it", device.name));
        };
        if own.state() != State::Installed {
            return None;
        }
        let target = own.revisions.target.as_ref().and_then(|it| self.roles.git.text(&it.blob));
        let target = target.unwrap_or_default();
        let wanted = crate::world::words::revision(&target);
        let runs = self.running(node);
        (runs.as_deref() != wanted)
            .then(|| format!("node {} runs {runs:?}, not {wanted:?}", device.name))
    }

    fn excuse(&self) -> String {
        let what = self.unfinished().unwrap_or_default();
        let now = self.site_time();
        let core = &self.local().core;
        let reasons = core.placements().filter_map(|it| why::placement(core, &it.id, now));
        let reasons: Vec<String> = reasons.map(|it| it.text(now.wall)).collect();
        format!("{what}; {}", reasons.join("; "))
    }
}
