//! The names that events of this site use.

use colony_core::attempt::Revision;
use colony_core::document::FileFacts;
use colony_core::event::Names;
use colony_core::id::DeploymentId;
use colony_core::site::Site;

pub(super) struct SiteNames<'a>(pub &'a Site);

impl Names for SiteNames<'_> {
    fn deployment(&self, id: &DeploymentId) -> String {
        self.0.deployment(id).map_or_else(|| id.to_string(), |it| it.name.to_string())
    }

    fn version(&self, id: &DeploymentId, revision: &Revision) -> Option<String> {
        let document = self.0.deployment(id)?.document(revision)?;
        Some(FileFacts::of(&document.spec).version)
    }
}
