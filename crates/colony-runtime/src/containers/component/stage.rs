//! Runs a component a second time, beside its active version.
//!
//! The project is created once more under a separate name: with its own
//! networks, without ports of the host, with the same volumes. Services that
//! must not run twice (see `twice`) are created and not started. At the end the
//! containers for the takeover are created too, where that does not affect the
//! active ones, so that the swap only has to stop and to start.

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use futures_util::future::join_all;
use tracing::debug;

use crate::compose::{Condition, Mount, MountKind, Project, Service};
use crate::containers::component::start::waves;
use crate::containers::component::work::Work;
use crate::containers::engine::ContainerEngine;
use crate::containers::label::StartCondition;
use crate::job::Job;

impl ContainerEngine {
    pub(crate) async fn stage(&self, job: &Job) -> Result<(), Failure> {
        let project = self.archives.project(job).await?;
        refuse_names(&project)?;
        let waves = waves(&project)?;
        self.start_all(job, &project, &waves).await?;
        // Without containers created ahead the swap only takes longer.
        if let Err(failure) = self.make_ahead(&job.active(), &project, &waves).await {
            debug!(component = %job.component, "nothing is made ahead: {}", failure.message);
        }
        Ok(())
    }

    async fn make_ahead(
        &self,
        job: &Job,
        project: &Project,
        waves: &[Vec<&str>],
    ) -> Result<(), Failure> {
        let names = self.network_names(job, project).await?;
        let work = self.work(job, project, &names).await?;
        let whole = self.whole(&work).await;
        let ready = ready(project, waves, &whole);
        let all = waves.iter().enumerate();
        let all = all.flat_map(|(order, wave)| wave.iter().map(move |it| (*it, order)));
        let all = all.filter(|it| whole.contains(it.0)).map(|(name, order)| {
            let waits =
                if ready.contains(name) { StartCondition::Swap } else { StartCondition::Turn };
            self.create(&work, name, order, waits)
        });
        join_all(all).await.into_iter().try_for_each(|it| it.map(|_| ()))
    }

    /// The missing services whose containers one call creates completely.
    async fn whole<'a>(&self, work: &Work<'a>) -> BTreeSet<&'a str> {
        let mut whole = BTreeSet::new();
        for (name, service) in &work.project.services {
            let ports = !service.ports.is_empty() && self.api.abilities().ports_at_creation;
            let mut fits = is_whole_at_once(service) && !ports && !work.before.contains_key(name);
            for network in service.networks.keys() {
                fits = fits && self.network_is_there(work, network).await;
            }
            whole.extend(fits.then_some(name.as_str()));
        }
        whole
    }
}

/// Two containers cannot have one name, and one that runs keeps its name.
fn refuse_names(project: &Project) -> Result<(), Failure> {
    let named = project.services.iter().find(|it| it.1.container_name.is_some());
    let Some((name, _)) = named else { return Ok(()) };
    let message = format!(
        "the service `{name}` has a `container_name`, so its next version cannot run beside it: \
         blue-green needs a file without it"
    );
    Err(Failure::new(Code::NotEligible, message))
}

/// Engines attach one network to a container when they create it, and Docker
/// copies content into volumes, which still belong to the active container.
fn is_whole_at_once(service: &Service) -> bool {
    let volume = |it: &Mount| it.kind == MountKind::Volume && it.source.is_some();
    service.networks.len() <= 1 && !service.mounts.iter().any(volume)
}

/// The services that wait for nothing except for others of this set to be
/// started.
fn ready<'a>(
    project: &Project,
    waves: &[Vec<&'a str>],
    whole: &BTreeSet<&str>,
) -> BTreeSet<&'a str> {
    let mut ready: BTreeSet<&str> = BTreeSet::new();
    for name in waves.iter().flatten().filter(|it| whole.contains(*it)) {
        let needs = project.services.get(*name).map(|it| &it.depends_on);
        let mut needs = needs.into_iter().flatten();
        let met = needs.all(|(other, condition)| {
            *condition == Condition::Started && ready.contains(other.as_str())
        });
        ready.extend(met.then_some(*name));
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::containers::component::order;

    #[test]
    fn only_what_waits_for_nothing_is_started_by_the_swap() {
        check("web", "web", "web");
        check("web:side side", "web side", "side web");
        check("web:side side", "web", "");
        check("web:side! side", "web side", "side");
        check("a:b b:c! c", "a b c", "c");
    }

    /// `a:b` depends on b, `a:b!` on it being healthy.
    #[track_caller]
    fn check(services: &str, whole: &str, expected: &str) {
        let services = services.split(' ').map(|it| {
            let (name, needs) = it.split_once(':').unwrap_or((it, ""));
            let condition = match needs.ends_with('!') {
                true => Condition::Healthy,
                false => Condition::Started,
            };
            let needs = needs.trim_end_matches('!');
            let needs = (!needs.is_empty()).then(|| (needs.to_owned(), condition));
            let depends_on = needs.into_iter().collect();
            (name.to_owned(), Service { depends_on, ..Service::default() })
        });
        let project = Project { services: services.collect(), ..Project::default() };
        let waves = order::waves(&project.services).expect("no circle");
        let found = ready(&project, &waves, &whole.split(' ').collect());
        assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), expected);
    }
}
