//! A parsed wire document: which components to run, in which order.
//!
//! A *fingerprint* identifies what a component's containers are made from. It
//! ignores everything that does not reach them (attempt, policy, waiting times,
//! the other components), so containers with an equal fingerprint are left
//! running.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use colony_margo::{
    ApplicationDeployment, Capabilities, Component, ComponentName, DeploymentId, DeviceId,
    DeviceTarget, Digest, Finding, canonical,
};

use crate::attempt::Failure;
use crate::code::Code;
use crate::document::{EXTENSION, Side};
use crate::node::engine::{Container, staged};
use crate::node::policy::COMPONENT_LIMIT;

/// The parsed content of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub document: ApplicationDeployment,
    /// The attempt number of the local orchestrator; other Margo managers send
    /// none.
    pub attempt: Option<u64>,
    /// Whether the document is active, or staged beside the active version.
    pub side: Side,
    /// In the order of installation.
    pub parts: Vec<Part>,
}

/// One component of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub component: ComponentName,
    pub fingerprint: Digest,
    /// Whether the next component waits for this one.
    pub blocks_next: bool,
    pub timeout: Option<Duration>,
}

impl Plan {
    /// Reads the document listed as `id` for `node`.
    pub fn read(id: &DeploymentId, node: &DeviceId, bytes: &[u8]) -> Result<Plan, Failure> {
        let parsed = ApplicationDeployment::parse(bytes);
        let document = parsed.map_err(|it| invalid(findings(&it)))?.value;
        if document.id != *id {
            return Err(invalid(format!("the document is of `{}`, not of `{id}`", document.id)));
        }
        addressed_to(node, &document)?;
        let components = &document.spec.profile.components;
        if components.len() > COMPONENT_LIMIT {
            let count = components.len();
            return Err(invalid(format!(
                "{count} components, at most {COMPONENT_LIMIT} are accepted"
            )));
        }
        let own = document.spec.extensions.get(EXTENSION);
        let attempt = own.and_then(|it| it.get("attempt")).and_then(Value::as_u64);
        let side = side(own.and_then(|it| it.get("phase")))?;
        let parts = components.iter().map(|it| Part::of(&document, it)).collect();
        Ok(Plan { document, attempt, side, parts })
    }

    /// Whether this device may run it: Margo requires every device to check for
    /// itself.
    pub(in crate::node) fn fits(&self, device: &Capabilities) -> Result<(), Failure> {
        let accepted = self.document.spec.profile.accepted_by(device);
        accepted.map_err(|it| Failure::new(Code::NotEligible, it))
    }

    /// The document is staged beside the active version.
    pub(in crate::node) fn is_staged(&self) -> bool {
        self.side == Side::Stage
    }

    pub fn part(&self, component: &ComponentName) -> Option<&Part> {
        self.parts.iter().find(|it| it.component == *component)
    }

    pub fn fingerprints(&self) -> BTreeSet<Digest> {
        self.parts.iter().map(|it| it.fingerprint).collect()
    }
}

impl Side {
    /// The containers on this side.
    pub(in crate::node) fn of(self, containers: &[Container]) -> impl Iterator<Item = &Container> {
        let beside = self == Side::Stage;
        containers.iter().filter(move |it| it.staged == beside)
    }

    /// The fingerprint that containers of `part` carry on this side.
    pub(in crate::node) fn label(self, part: &Part) -> Digest {
        match self {
            Side::Stage => staged(part.fingerprint),
            Side::Active => part.fingerprint,
        }
    }
}

impl Part {
    fn of(document: &ApplicationDeployment, component: &Component) -> Part {
        Part {
            component: component.name.clone(),
            fingerprint: fingerprint(document, component),
            blocks_next: component.properties.wait.unwrap_or(true),
            timeout: component.properties.timeout.map(|it| it.duration()),
        }
    }
}

/// The side that the document names as its phase. Absent means active: managers
/// other than colony do not send one.
fn side(written: Option<&Value>) -> Result<Side, Failure> {
    match written {
        None => Ok(Side::Active),
        Some(written) => Side::deserialize(written)
            .map_err(|_| invalid(format!("phase {written} is neither `active` nor `stage`"))),
    }
}

/// The digest of everything that the containers of `component` are made from.
pub fn fingerprint(document: &ApplicationDeployment, component: &Component) -> Digest {
    let profile = &document.spec.profile;
    let made_from = json!({
        "name": component.name,
        "repository": component.properties.repository,
        "revision": component.properties.revision,
        "extensions": component.extensions,
        "profile": { "type": profile.kind, "extensions": profile.extensions },
        "parameters": parameters(document, component),
    });
    Digest::of(&canonical::to_vec(&made_from))
}

/// Pointers and values of the parameters that target `component`, by pointer.
/// Of two parameters with the same pointer the order of their names decides, as
/// it does in the engine.
fn parameters(document: &ApplicationDeployment, component: &Component) -> Vec<Value> {
    let mut aimed: Vec<(&str, Option<&Value>)> = Vec::new();
    for parameter in document.spec.parameters.values() {
        let here = parameter.targets.iter().filter(|it| it.components.contains(&component.name));
        aimed.extend(here.map(|it| (it.pointer.as_str(), parameter.value.as_ref())));
    }
    aimed.sort_by_key(|it| it.0);
    aimed.into_iter().map(|(pointer, value)| json!([pointer, value])).collect()
}

fn addressed_to(node: &DeviceId, document: &ApplicationDeployment) -> Result<(), Failure> {
    let (code, message) = match &document.metadata.device_id {
        DeviceTarget::Device(id) if id == node => return Ok(()),
        DeviceTarget::Device(id) => {
            (Code::UnknownChild, format!("the document is for `{id}`, this is `{node}`"))
        }
        DeviceTarget::AnyChild(id) => {
            (Code::PlacementUnsupported, format!("`{node}` places nothing for `{id}`"))
        }
    };
    Err(Failure { source: document.metadata.name.clone(), ..Failure::new(code, message) })
}

fn invalid(message: String) -> Failure {
    Failure::new(Code::InvalidConfig, message)
}

/// The first findings, as one line: the local orchestrator has shown all of them
/// already.
fn findings(all: &[Finding]) -> String {
    let shown: Vec<String> = all.iter().take(3).map(ToString::to_string).collect();
    shown.join("; ")
}
