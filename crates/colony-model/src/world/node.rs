//! The nodes in the model: their actions in progress, deaths and power cuts.

use colony_core::node::{Action, Input, Step};
use colony_world::{Flaw, NodeShell, Registry, ToLocal};

use crate::world::World;
use crate::world::words;

/// More looks at the engine than any correct step needs.
const LOOKS: u32 = 8;

/// An action in progress, with the version it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) action: Action,
    pub(crate) version: Option<String>,
}

impl World {
    /// Starts the actions of a step; an action replaces a preparation in
    /// progress. `false` if the node died of a look at its engine.
    pub(crate) fn begin_actions(&mut self, node: usize, step: Step) -> bool {
        for action in step.actions {
            let version = self.roles.nodes[node].version_of(&action);
            let doing = &mut self.doing[node];
            doing.retain(|it| it.action.deployment() != action.deployment());
            doing.push(Doing { action, version });
            let what = words::action(doing.last());
            self.say(format!("node {} begins to {what}", self.roles.nodes[node].name));
        }
        if !step.observe || self.looks >= LOOKS {
            return true;
        }
        self.looks += 1;
        let alive = self.node_look(node);
        self.looks -= 1;
        alive
    }

    /// If no other process can die, the node restarts at once.
    pub(crate) fn node_dies(&mut self, node: usize, when: &str) {
        self.say(format!("node {} dies {when}", self.roles.nodes[node].name));
        self.node_restore(node);
        let device = &mut *self.roles.nodes[node];
        device.process.die();
        device.introduced = false;
        self.doing[node].clear();
        if self.left.deaths == 0 {
            self.node_comes_back(node);
        }
    }

    pub(crate) fn node_comes_back(&mut self, node: usize) {
        self.say(format!("node {} comes back from its disk", self.roles.nodes[node].name));
        self.node_start(node);
    }

    /// Polls for the manifest; a process that has just started first sends its
    /// capabilities.
    pub(crate) fn node_calls(&mut self, node: usize) -> ToLocal {
        self.node_collect(node);
        let introduced = self.roles.nodes[node].introduced;
        let call = if introduced { self.node_poll(node) } else { ToLocal::Capabilities { node } };
        self.say_call(node, &call);
        call
    }

    /// The unacknowledged reports.
    pub(crate) fn reports(&mut self, node: usize) -> Vec<ToLocal> {
        let reports = self.node_reports(node);
        reports.iter().for_each(|it| self.say_call(node, it));
        reports
    }

    fn say_call(&mut self, node: usize, call: &ToLocal) {
        self.say(format!("node {} sends {}", self.roles.nodes[node].name, words::call(call)));
    }

    /// The engine has finished an action.
    pub(crate) fn engine_done(&mut self, node: usize, index: usize) {
        let hasty = self.plan.flaw == Flaw::TakesStaged;
        let doing = self.doing[node].remove(index);
        let action = if hasty { unstaged(&doing.action) } else { doing.action.clone() };
        let device = &mut *self.roles.nodes[node];
        let version = doing.version.as_deref();
        let result = device.engine.perform(&action, version, 0, Registry::Open);
        let what = words::action(Some(&doing));
        let how = result.as_ref().err().map(|it| format!(": {}", it.code)).unwrap_or_default();
        let end = if result.is_ok() { "is done" } else { "fails" };
        let line = format!("node {}'s engine {end}: {what}{how}", device.name);
        self.say(line);
        self.check_stage();
        self.node_step(node, Input::Done { action: doing.action, result });
    }

    /// The device loses power while its engine works.
    pub(crate) fn power_cut(&mut self, node: usize, finished: bool) {
        let doing = std::mem::take(&mut self.doing[node]);
        let device = &mut *self.roles.nodes[node];
        for it in doing.iter().filter(|_| finished) {
            let version = it.version.as_deref();
            let _ = device.engine.perform(&it.action, version, 0, Registry::Open);
        }
        let what = words::action(doing.first());
        let when = if finished { "as it had just finished" } else { "before it could" };
        self.check_stage();
        self.node_dies(node, &format!("{when} to {what}"));
    }

    /// Every container of a node is killed from outside.
    pub(crate) fn kill(&mut self, node: usize) {
        if self.roles.nodes[node].engine.is_busy(0) {
            self.roles.nodes[node].engine.power_cycle();
            self.left.kills -= 1;
            self.say(format!("the container on node {} is killed", self.roles.nodes[node].name));
        }
    }
}

/// The flaw of a node that starts a staged version in place of the active one.
fn unstaged(action: &Action) -> Action {
    match action.clone() {
        Action::Stage { deployment, component, fingerprint } => {
            Action::Start { deployment, component, fingerprint }
        }
        other @ (Action::Prepare { .. }
        | Action::Start { .. }
        | Action::Unstage { .. }
        | Action::Clear { .. }
        | Action::Remove { .. }) => other,
    }
}
