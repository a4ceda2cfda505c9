//! Components of a profile, the same in descriptions and deployments.

use serde::Serialize;

use crate::extension::Extensions;
use crate::value::artifact::{Repository, Revision, Timeout};
use crate::value::name::ComponentName;
use crate::yaml::Cursor;

/// One artifact that a deployment installs, in the order of the profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Component {
    pub name: ComponentName,
    pub properties: Properties,
    #[serde(flatten)]
    pub extensions: Extensions,
}

/// The artifact, and how to wait for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Properties {
    pub repository: Repository,
    pub revision: Revision,
    /// Whether the next component waits for this one; absent means it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
}

impl Component {
    /// Reads a component.
    pub fn read(cursor: &Cursor<'_>) -> Option<Component> {
        cursor.unknown_keys(&["name", "properties"]);
        let name = cursor.required("name").and_then(|it| it.text());
        let properties = cursor.required("properties").and_then(|it| Properties::read(&it));
        let extensions = cursor.extensions();
        Some(Component { name: name?, properties: properties?, extensions })
    }
}

impl Properties {
    fn read(cursor: &Cursor<'_>) -> Option<Properties> {
        cursor.unknown_keys(&["repository", "revision", "wait", "timeout"]);
        let repository = cursor.required("repository").and_then(|it| it.text());
        let revision = cursor.required("revision").and_then(|it| it.text());
        let wait = cursor.field("wait").and_then(|it| it.bool());
        let timeout = cursor.field("timeout").and_then(|it| it.text());
        Some(Properties { repository: repository?, revision: revision?, wait, timeout })
    }
}

/// Reads the components of a profile: at least one, each name once.
pub(crate) fn read_all(cursor: &Cursor<'_>) -> Option<Vec<Component>> {
    cursor.unique("name", "component");
    cursor.some_each(Component::read)
}
