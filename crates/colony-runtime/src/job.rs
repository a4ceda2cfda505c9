//! One component of one deployment, as the subject of an action.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::document::drain;
use colony_core::margo::{ComponentName, DeploymentId, Digest, Json};
use colony_core::node::{Action, staged};

use crate::config::Subject;

#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) deployment: DeploymentId,
    pub(crate) component: ComponentName,
    /// The fingerprint that was prepared; the containers carry `mark`.
    pub(crate) fingerprint: Digest,
    /// It runs beside the active version of the component.
    pub(crate) staged: bool,
    pub(crate) subject: Subject,
}

impl Job {
    /// `None` for actions that are not about one component's fingerprint.
    pub(crate) fn of(action: &Action, subject: Option<Subject>) -> Result<Option<Job>, Failure> {
        let (Some(component), Some(fingerprint)) = (action.component(), action.fingerprint())
        else {
            return Ok(None);
        };
        let nothing = || Failure::new(Code::InvalidConfig, "there is no document for this action");
        let subject = subject.ok_or_else(nothing)?;
        Ok(Some(Job {
            deployment: action.deployment().clone(),
            component: component.clone(),
            fingerprint,
            staged: matches!(action, Action::Stage { .. }),
            subject,
        }))
    }

    /// The fingerprint its containers carry.
    pub(crate) fn mark(&self) -> Digest {
        if self.staged { staged(self.fingerprint) } else { self.fingerprint }
    }

    /// The display name of the deployment.
    pub(crate) fn name(&self) -> &str {
        &self.subject.document.metadata.name
    }

    /// How long connections to the version that is replaced may last.
    pub(crate) fn drain(&self) -> Duration {
        drain(&self.subject.document)
    }

    /// The prefix of the names of containers and networks.
    pub(crate) fn prefix(&self) -> String {
        let suffix = if self.staged { "-staged" } else { "" };
        format!("{}{suffix}", self.name())
    }

    /// The same component, about to take over.
    pub(crate) fn active(&self) -> Job {
        Job { staged: false, ..self.clone() }
    }

    /// Variables for the compose file.
    pub(crate) fn parameters(&self) -> BTreeMap<String, String> {
        self.targets().into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect()
    }

    /// The pointers of this component, with their values. Of two parameters with
    /// one pointer the one with the later name wins, as in the fingerprint.
    pub(crate) fn targets(&self) -> BTreeMap<&str, &Json> {
        let mut targets = BTreeMap::new();
        for parameter in self.subject.document.spec.parameters.values() {
            let Some(value) = &parameter.value else { continue };
            let here =
                parameter.targets.iter().filter(|it| it.components.contains(&self.component));
            targets.extend(here.map(|it| (it.pointer.as_str(), value)));
        }
        targets
    }
}

fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => value.to_string(),
    }
}

/// The component or deployment of an action, for its failures.
pub(crate) fn source(action: &Action) -> String {
    action.component().map_or_else(|| action.deployment().to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_component_or_the_deployment() {
        let deployment = DeploymentId::from_bytes([7; 16]);
        let remove = Action::Remove { deployment: deployment.clone(), purge: false, images: false };
        assert_eq!(source(&remove), deployment.to_string());
        let (component, fingerprint) = ("web".parse().unwrap(), Digest::of(b"web"));
        assert_eq!(source(&Action::Start { deployment, component, fingerprint }), "web");
    }
}
