//! Whether an operator may delete a deployment at a site.

use crate::fleet::SiteView;
use crate::id::{DeploymentName, NodeName};
use crate::orders::check_delete;
use crate::transition::Refusal;

impl SiteView {
    /// The placements of the deployment that may not be deleted.
    pub fn delete_check(
        &self,
        deployment: &DeploymentName,
        force: bool,
    ) -> Vec<(NodeName, Refusal)> {
        let ids = self.deployments_named(deployment).map(|it| &it.id);
        let refused = ids.flat_map(|it| self.placements_of(it)).filter_map(|it| {
            let refusal = check_delete(it.state, force).err()?;
            Some((it.id.node.clone(), refusal))
        });
        refused.collect()
    }
}
