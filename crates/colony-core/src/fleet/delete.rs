//! Whether an operator may delete a deployment everywhere.

use crate::fleet::{Fleet, SiteView};
use crate::id::{DeploymentName, NodeName, SiteName};
use crate::orders::check_delete;
use crate::transition::Refusal;

impl Fleet {
    /// Checks every placement of the deployment.
    pub fn delete_check(
        &self,
        deployment: &DeploymentName,
        force: bool,
    ) -> Result<(), Vec<(SiteName, NodeName, Refusal)>> {
        let refusals = self.sites_of(deployment).flat_map(|(site, view)| {
            let refused = view.delete_check(deployment, force).into_iter();
            refused.map(|(node, refusal)| (site.clone(), node, refusal))
        });
        let refusals: Vec<_> = refusals.collect();
        if refusals.is_empty() { Ok(()) } else { Err(refusals) }
    }
}

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
