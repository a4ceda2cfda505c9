//! The next file of one site: description, values and settings put together.

use std::collections::{BTreeMap, BTreeSet};

use colony_api::request::DeployRequest;
use colony_core::document::{Document, VERSION_LABEL};
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_core::margo::description::{DeployError, Order};
use colony_core::margo::text::Invalid;
use colony_core::margo::{
    ApplicationDeployment, Capabilities, DeploymentId, DeviceTarget, Finding, Json,
};
use colony_core::plan::{self, choose_profile, no_blob};

use super::inputs::DeploymentAtSite;
use super::{settings, values};
use crate::catalog::CatalogVersion;

/// Remembers which profile was chosen, so that an update keeps it.
const PROFILE_LABEL: &str = "colony-profile";

/// The next file of a site.
pub(super) struct DraftedFile {
    pub text: String,
    pub profile: String,
    /// Which nodes the chosen profile does not fit.
    pub warning: Option<String>,
    /// The parameters whose values come from other sites.
    pub carried: BTreeSet<String>,
}

pub(super) struct Draft<'a> {
    pub name: &'a DeploymentName,
    pub request: &'a DeployRequest,
    pub target: &'a DeploymentAtSite,
    pub version: &'a CatalogVersion,
    pub node: Option<&'a (SiteName, NodeName)>,
    /// Values that a new site takes over.
    pub carried: &'a BTreeMap<String, Json>,
}

/// Errors by field.
pub(super) type Errors = BTreeMap<String, String>;

impl Draft<'_> {
    pub(super) fn build(
        &self,
        before: Option<&CatalogVersion>,
        known: &[(String, Capabilities)],
    ) -> Result<DraftedFile, Errors> {
        let description = &self.version.description;
        let deployed = self.target.deployed.as_ref();
        let (profile, warning) = self.profile(known);
        let before = before.map(|it| &*it.description);
        let kept = match deployed {
            Some(deployed) => values::kept_values(description, before, deployed),
            None => values::known_values(description, self.carried),
        };
        let asked = &self.request.parameters;
        let carried = kept.keys().filter(|it| deployed.is_none() && !asked.contains_key(*it));
        let carried = carried.cloned().collect();
        let values = values::merged(description, kept, asked);
        let order = self.order(&profile, values)?;
        let deployment = description.deploy(&order).map_err(|it| deploy_errors(&it))?;
        self.check_immutables(&deployment)?;
        let text = match deployed {
            // A file that was formatted by hand stays as it is if its content
            // is the same.
            Some(same) if *same == deployment && self.target.unusable_because.is_none() => {
                self.target.file.as_ref().map(|it| it.1.clone()).unwrap_or_default()
            }
            _ => deployment.to_yaml(),
        };
        check_document(&self.target.site, self.name, &text)?;
        Ok(DraftedFile { text, profile, warning, carried })
    }

    fn profile(&self, known: &[(String, Capabilities)]) -> (String, Option<String>) {
        let description = &self.version.description;
        let kept =
            self.target.deployed.as_ref().and_then(|it| it.metadata.labels.get(PROFILE_LABEL));
        if let Some(asked) = &self.request.profile {
            return (asked.clone(), None);
        }
        if let Some(kept) = kept.filter(|it| description.profile(it).is_some()) {
            return (kept.clone(), None);
        }
        let choice = choose_profile(description, known);
        choice.map(|it| (it.profile, it.warning)).unwrap_or_default()
    }

    fn order(&self, profile: &str, values: BTreeMap<String, Json>) -> Result<Order, Errors> {
        let deployed = self.target.deployed.as_ref();
        let mut labels = deployed.map(|it| it.metadata.labels.clone()).unwrap_or_default();
        labels.insert(VERSION_LABEL.to_owned(), self.version.version.clone());
        labels.insert(PROFILE_LABEL.to_owned(), profile.to_owned());
        let namespace = deployed.map(|it| it.metadata.namespace.clone());
        Ok(Order {
            id: self.id(),
            name: self.name.to_string(),
            namespace: namespace.unwrap_or_else(|| "default".to_owned()),
            device_id: self.device()?,
            labels,
            profile: profile.to_owned(),
            values,
            extensions: settings::extensions(deployed, self.request),
        })
    }

    /// The id is kept: another id would be another deployment, and the running
    /// one would be removed.
    fn id(&self) -> DeploymentId {
        let written = self.target.deployed.as_ref().map(|it| it.id.clone());
        written.or_else(|| self.target.reusable_id.clone()).unwrap_or_else(fresh_id)
    }

    fn device(&self) -> Result<DeviceTarget, Errors> {
        let site = &self.target.site;
        let written = match (self.node, &self.target.deployed) {
            (Some((_, node)), _) => format!("{site}/{node}"),
            (None, Some(it)) => it.metadata.device_id.to_string(),
            (None, None) => format!("{site}/*"),
        };
        written.parse().map_err(|it: Invalid| BTreeMap::from([("node".to_owned(), it.to_string())]))
    }

    fn check_immutables(&self, next: &ApplicationDeployment) -> Result<(), Errors> {
        let Some(deployed) = &self.target.deployed else { return Ok(()) };
        let before = plan::values(Some(deployed));
        let after = plan::values(Some(next));
        let changed = self.version.description.changed_immutables(&before, &after);
        if changed.is_empty() {
            return Ok(());
        }
        let error = |it: &str| {
            let was = before.get(it).map_or("unset".to_owned(), |it| format!("`{it}`"));
            (
                it.to_owned(),
                format!("parameter `{it}` cannot change after the first installation; it is {was}"),
            )
        };
        Err(changed.into_iter().map(error).collect())
    }
}

fn deploy_errors(errors: &[DeployError]) -> Errors {
    let entry = |it: &DeployError| match it {
        DeployError::UnknownProfile { .. } => ("profile".to_owned(), it.to_string()),
        DeployError::Value(value) => (format!("parameters.{}", value.parameter), it.to_string()),
    };
    errors.iter().map(entry).collect()
}

/// Refuses a file that the site would not accept.
fn check_document(site: &SiteName, name: &DeploymentName, text: &str) -> Result<(), Errors> {
    let findings = Document::parse(site, name, &no_blob(), text.as_bytes()).err();
    let entry =
        |it: Finding| (it.path.clone(), format!("{}; expected {}", it.problem, it.expected));
    findings.map_or(Ok(()), |it| Err(it.into_iter().map(entry).collect()))
}

fn fresh_id() -> DeploymentId {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().unwrap_or_else(|_| unreachable!("a UUID is a deployment id"))
}
