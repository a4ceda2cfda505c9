//! What a site calls the things its events speak of.

use colony_core::attempt::Revision;
use colony_core::event::Names;
use colony_core::id::DeploymentId;
use colony_core::site::Site;

use super::outcome;

pub(super) struct Called<'a>(pub &'a Site);

impl Names for Called<'_> {
    fn deployment(&self, id: &DeploymentId) -> String {
        self.0.deployment(id).map_or_else(|| id.to_string(), |it| it.name.to_string())
    }

    fn version(&self, id: &DeploymentId, revision: &Revision) -> Option<String> {
        self.0.deployment(id).and_then(|it| outcome::version_of(it, revision))
    }
}
