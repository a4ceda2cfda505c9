//! Whether containers were created from an archive or image that their tag no
//! longer refers to.

use std::collections::BTreeMap;

use colony_core::attempt::Failure;
use colony_core::node::staged;

use crate::compose::Project;
use crate::containers::api::ContainerInfo;
use crate::containers::engine::ContainerEngine;
use crate::containers::label;
use crate::job::Job;

/// What a container of one service should be made from.
#[derive(Debug)]
struct Source<'a> {
    archive: Option<&'a str>,
    image: &'a str,
}

impl ContainerEngine {
    /// A container of the component, active or staged, was made from another
    /// archive or image than the stored one.
    pub(crate) async fn is_outdated(&self, job: &Job, project: &Project) -> Result<bool, Failure> {
        let failed =
            |it: crate::containers::engine_error::EngineError| it.failed("look at the containers");
        let archive = self.archives.digest(&job.fingerprint).await;
        let mut images = BTreeMap::new();
        for (name, service) in &project.services {
            let image = self.api.image(&service.image).await.map_err(failed)?;
            images.insert(name.as_str(), image.map(|it| it.id).unwrap_or_default());
        }
        let marks = [job.fingerprint, staged(job.fingerprint)];
        for seen in self.survey(Some(&job.deployment)).await.map_err(failed)? {
            let owner = &seen.owner;
            if owner.component != job.component || !marks.contains(&owner.fingerprint) {
                continue;
            }
            let Some(container) = self.api.inspect(&seen.id).await.map_err(failed)? else {
                continue;
            };
            let image = images.get(owner.service.as_str()).map_or("", String::as_str);
            if (Source { archive: archive.as_deref(), image }).differs(&container) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Source<'_> {
    /// A value that is unknown on either side makes no difference.
    fn differs(&self, container: &ContainerInfo) -> bool {
        let made_from = container.labels.get(label::ARCHIVE).map(String::as_str);
        let archive = self.archive.zip(made_from).is_some_and(|(new, old)| new != old);
        let (new, old) = (plain(self.image), plain(&container.image));
        archive || (!new.is_empty() && !old.is_empty() && new != old)
    }
}

/// Engines write ids with and without the name of the algorithm.
fn plain(id: &str) -> &str {
    id.strip_prefix("sha256:").unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use colony_core::node::Status;

    use super::*;

    #[test]
    fn only_what_is_known_to_differ_is_outdated() {
        check((Some("aa"), "sha256:11"), (Some("aa"), "11"), false);
        check((Some("bb"), "11"), (Some("aa"), "11"), true);
        check((Some("aa"), "22"), (Some("aa"), "11"), true);
        check((Some("bb"), ""), (None, "11"), false);
        check((None, "11"), (Some("aa"), ""), false);
    }

    #[track_caller]
    fn check(new: (Option<&str>, &str), old: (Option<&str>, &str), expected: bool) {
        let labels = old.0.map(|it| (label::ARCHIVE.to_owned(), it.to_owned()));
        let container = ContainerInfo {
            id: "1".to_owned(),
            labels: labels.into_iter().collect(),
            image: old.1.to_owned(),
            status: Status::Exited { code: 1 },
            unborn: false,
            started_at: String::new(),
        };
        let source = Source { archive: new.0, image: new.1 };
        assert_eq!(source.differs(&container), expected, "{new:?} {old:?}");
    }
}
