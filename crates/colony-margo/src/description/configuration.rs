//! The settings of an operator, and their rules.

use std::collections::BTreeMap;

use serde::Serialize;

use super::schema::Schema;
use crate::parameter::Parameter;
use crate::yaml::Cursor;

/// The form an operator fills in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Configuration {
    pub sections: Vec<Section>,
    #[serde(rename = "schema")]
    pub schemas: Vec<Schema>,
}

/// A part of the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    pub name: String,
    pub settings: Vec<Setting>,
}

/// One input of the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub parameter: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the value must not change after the first installation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub immutable: bool,
    /// The name of the schema that a value must meet.
    pub schema: String,
}

type Parameters = BTreeMap<String, Parameter>;

impl Configuration {
    /// The schema of this name.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.iter().find(|it| it.name == name)
    }

    pub(super) fn read(
        cursor: &Cursor<'_>,
        parameters: Option<&Parameters>,
    ) -> Option<Configuration> {
        cursor.unknown_keys(&["sections", "schema"]);
        let schemas = cursor.required("schema").and_then(|it| read_schemas(&it));
        let known = DeclaredNames { parameters, schemas: schemas.as_deref() };
        let sections = cursor.required("sections");
        let sections = sections.and_then(|it| it.each(|it| Section::read(it, &known)));
        Some(Configuration { sections: sections?, schemas: schemas? })
    }
}

/// The names that settings may refer to; `None` if they could not be read.
struct DeclaredNames<'a> {
    parameters: Option<&'a Parameters>,
    schemas: Option<&'a [Schema]>,
}

impl Section {
    fn read(cursor: &Cursor<'_>, known: &DeclaredNames<'_>) -> Option<Section> {
        cursor.unknown_keys(&["name", "settings"]);
        let name = cursor.required("name").and_then(|it| it.string());
        let settings = cursor.required("settings");
        let settings = settings.and_then(|it| it.each(|it| Setting::read(it, known)));
        Some(Section { name: name?, settings: settings? })
    }
}

impl Setting {
    fn read(cursor: &Cursor<'_>, known: &DeclaredNames<'_>) -> Option<Setting> {
        cursor.unknown_keys(&["parameter", "name", "description", "immutable", "schema"]);
        let parameter = cursor.required("parameter").and_then(|it| it.string());
        let name = cursor.required("name").and_then(|it| it.string());
        let description = cursor.field("description").and_then(|it| it.string());
        let immutable = cursor.field("immutable").and_then(|it| it.bool()).unwrap_or(false);
        let schema = cursor.required("schema").and_then(|it| it.string());
        let (parameter, schema) = (parameter?, schema?);
        let setting = Setting { parameter, name: name?, description, immutable, schema };
        setting.check(cursor, known);
        Some(setting)
    }

    /// Checks that the parameter and the schema of the setting exist and fit
    /// together.
    fn check(&self, cursor: &Cursor<'_>, known: &DeclaredNames<'_>) {
        let parameter = known.parameters.map(|it| it.get(&self.parameter));
        let schema = known.schemas.map(|it| it.iter().find(|it| it.name == self.schema));
        if let (Some(None), Some(place)) = (parameter, cursor.field("parameter")) {
            let problem = format!("parameter `{}` does not exist", self.parameter);
            place.error(problem, "the name of a parameter under `parameters`");
        }
        if let (Some(None), Some(place)) = (schema, cursor.field("schema")) {
            let problem = format!("schema `{}` does not exist", self.schema);
            place.error(problem, "the name of a schema under `configuration.schema`");
        }
        let default = parameter.flatten().and_then(|it| it.value.as_ref());
        if let (Some(default), Some(Some(schema)), Some(place)) =
            (default, schema, cursor.field("parameter"))
            && let Err(error) = schema.check(&self.parameter, default)
        {
            place.error(format!("the default value {}", error.problem), error.expected);
        }
    }
}

fn read_schemas(cursor: &Cursor<'_>) -> Option<Vec<Schema>> {
    cursor.unique("name", "schema");
    cursor.each(Schema::read)
}
