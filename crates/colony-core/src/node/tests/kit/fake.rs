//! A scripted engine: what it does is decided by the revision's behaviour.

use std::collections::BTreeSet;

use colony_margo::{ComponentName, DeploymentId, Digest};

use crate::attempt::Failure;
use crate::code::Code;
use crate::node::tests::kit::world::World;
use crate::node::{Action, Health, Prepared, Status, staged};

/// The last field is true for staged containers.
pub(in crate::node::tests) type ContainerKey = (DeploymentId, ComponentName, Digest, String, bool);

/// How a revision of a component behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node::tests) enum Behaviour {
    Fine,
    /// Has a health check that passes.
    Checked,
    /// Has a health check that fails.
    Unhealthy,
    /// Has a health check that never returns a result.
    Slow,
    Exits,
    /// Its image does not exist.
    NoImage,
    /// The engine cannot start it.
    NoStart,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node::tests) struct Fake {
    pub(in crate::node::tests) title: String,
    pub(in crate::node::tests) run: u32,
    pub(in crate::node::tests) status: Status,
    pub(in crate::node::tests) health: Health,
}

impl World {
    /// The fingerprints that must not be stopped while healthy: those of the
    /// current document and, while that is staged, of the previous one.
    fn precious(&self, action: &Action) -> BTreeSet<Digest> {
        let entry = self.node.deployments.get(action.deployment());
        let entry = entry.filter(|it| it.record.phase.is_wanted() && action.component().is_some());
        let Some(entry) = entry else { return BTreeSet::new() };
        let own = entry.plan.as_ref().ok();
        let old = entry.previous.as_ref().filter(|_| entry.is_staging());
        let own = own.into_iter().chain(old);
        let current = |it: &&crate::node::Part| !entry.memory.outdated.contains(&it.fingerprint);
        own.flat_map(|it| it.parts.iter().filter(current).map(|part| it.side.label(part))).collect()
    }

    pub(in crate::node::tests) fn perform(
        &mut self,
        action: &Action,
        title: &str,
    ) -> Result<Prepared, Failure> {
        let away = self.engine_down || (self.cluster_down && self.is_chart(action.deployment()));
        let down = away.then(|| Failure::new(Code::EngineUnavailable, "no answer"));
        match action {
            Action::Prepare { fingerprint, refresh, .. } => {
                self.prepare(title, *fingerprint, *refresh)
            }
            Action::Start { .. } | Action::Stage { .. } => {
                down.map_or_else(|| self.start(action, title), Err)
            }
            Action::Unstage { component, .. } => {
                self.trace.push(format!("unstage {component}"));
                if self.removal_fails {
                    return Err(Failure::new(Code::EngineError, "device is busy"));
                }
                self.sweep(action, |it| it.1 != *component || !it.4);
                Ok(Prepared::default())
            }
            Action::Clear { component, keep, .. } => {
                self.trace.push(format!("clear {component}"));
                self.sweep(action, |it| it.4 || it.1 != *component || Some(it.2) == *keep);
                Ok(Prepared::default())
            }
            Action::Remove { deployment, purge, images } => {
                let name = crate::node::tests::kit::script::name_of(deployment);
                let how = if *purge { "purge" } else { "remove" };
                let images = if *images { " and its images" } else { "" };
                self.trace.push(format!("{how} {name}{images}"));
                if self.removal_fails {
                    return Err(Failure::new(Code::EngineError, "device is busy"));
                }
                self.sweep(action, |_| false);
                Ok(Prepared::default())
            }
        }
    }

    /// Removes the containers of the deployment except those to keep. Panics if
    /// a healthy one that the node wants is removed.
    fn sweep(&mut self, action: &Action, keep: impl Fn(&ContainerKey) -> bool) {
        let id = action.deployment();
        let wanted = self.precious(action);
        self.engine.retain(|place, fake| {
            let stays = place.0 != *id || keep(place);
            let well = !matches!(fake.health, Health::Unhealthy { .. });
            let sound = fake.status == Status::Running && well && wanted.contains(&place.2);
            assert!(stays || !sound, "{} was stopped", fake.title);
            stays
        });
    }

    fn prepare(
        &mut self,
        title: &str,
        fingerprint: Digest,
        refresh: bool,
    ) -> Result<Prepared, Failure> {
        let outdated = refresh && self.corrected.remove(title);
        let local = self.images.contains(&fingerprint) && !outdated;
        self.trace.push(format!("{} {title}", if local { "find" } else { "pull" }));
        if self.behaviour(title) == Behaviour::NoImage {
            return Err(Failure::new(Code::ImageMissing, "no such image"));
        }
        if !local && self.registry_down {
            return Err(Failure::new(Code::RegistryUnavailable, "no route"));
        }
        self.images.insert(fingerprint);
        let outdated = outdated && self.engine.values().any(|it| it.title == title);
        Ok(Prepared { services: BTreeSet::from(["main".to_owned()]), outdated })
    }

    fn start(&mut self, action: &Action, title: &str) -> Result<Prepared, Failure> {
        let (Some(component), Some(fingerprint)) = (action.component(), action.fingerprint())
        else {
            unreachable!("only starts are started")
        };
        let beside = matches!(action, Action::Stage { .. });
        self.trace.push(format!("{} {title}", if beside { "stage" } else { "start" }));
        assert!(self.images.contains(&fingerprint), "{title} was not prepared");
        let behaviour = self.behaviour(title);
        if behaviour == Behaviour::NoStart {
            return Err(Failure::new(Code::PortInUse, "port 80 is taken"));
        }
        let fingerprint = if beside { staged(fingerprint) } else { fingerprint };
        let deployment = action.deployment().clone();
        let place = (deployment, component.clone(), fingerprint, "main".to_owned(), beside);
        let runs = self.engine.get(&place).is_some_and(|it| it.status == Status::Running);
        if !runs {
            self.runs += 1;
            let title = if beside { format!("{title}+") } else { title.to_owned() };
            let fake = started(title, self.runs, behaviour);
            self.engine.insert(place, fake);
        }
        Ok(Prepared::default())
    }

    pub(in crate::node::tests) fn title(&self, action: &Action) -> String {
        let Some((_, component)) = self.node.subject(action) else { return String::new() };
        let revision = component.properties.revision.as_str();
        format!("{}@{}", component.name, revision.trim_end_matches(".0.0"))
    }

    fn behaviour(&self, title: &str) -> Behaviour {
        self.behaviours.get(title).copied().unwrap_or(Behaviour::Fine)
    }
}

fn started(title: String, run: u32, behaviour: Behaviour) -> Fake {
    let status = match behaviour {
        Behaviour::Exits => Status::Exited { code: 1 },
        Behaviour::Fine
        | Behaviour::Checked
        | Behaviour::Unhealthy
        | Behaviour::Slow
        | Behaviour::NoImage
        | Behaviour::NoStart => Status::Running,
    };
    let health = match behaviour {
        Behaviour::Checked => Health::Healthy,
        Behaviour::Unhealthy => {
            Health::Unhealthy { code: Code::Unhealthy, detail: "503".to_owned() }
        }
        Behaviour::Slow => Health::Starting,
        Behaviour::Fine | Behaviour::Exits | Behaviour::NoImage | Behaviour::NoStart => {
            Health::None
        }
    };
    Fake { title, run, status, health }
}
