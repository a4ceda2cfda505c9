//! Dependencies of a service, and its restart policy.

use std::collections::BTreeMap;

use colony_core::margo::yaml::{Cursor, Entry, Value};

use crate::compose::file::Scope;
use crate::compose::keys::{self, KeySection};
use crate::compose::project::Condition;
use crate::compose::syntax::value::{self, take};

/// How a service may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restart {
    /// It is started again whenever it ends.
    Always,
    /// It may end by itself.
    Ends,
}

pub(super) fn read(cursor: &Cursor<'_>, scope: &Scope<'_>) -> Option<BTreeMap<String, Condition>> {
    let found: Option<Vec<Option<(String, Condition)>>> = match &cursor.node().value {
        Value::Seq(_) => cursor.each(|it| {
            let name = value::text(it)?;
            scope.services.expect(it, &name);
            Some(exists(it, &name, true, scope).then_some((name, Condition::Started)))
        }),
        Value::Map(_) => cursor.entries()?.iter().map(|it| entry(it, scope)).collect(),
        Value::Null | Value::Scalar { .. } => cursor.mismatch("a list of services, or a mapping"),
    };
    found.map(|it| it.into_iter().flatten().collect())
}

/// Whether the service has a container. It must, unless it is not required.
fn exists(place: &Cursor<'_>, name: &str, required: bool, scope: &Scope<'_>) -> bool {
    let absent = scope.absent.get(name);
    if let (Some(reason), true) = (absent, required) {
        place.error(format!("`{name}` {reason}"), "`required: false`, or a service that is there");
    }
    absent.is_none() && scope.services.has(name)
}

fn entry(entry: &Entry<'_>, scope: &Scope<'_>) -> Option<Option<(String, Condition)>> {
    let given = entry.value.node().get("required");
    let required = given.and_then(|_| take(&entry.value, "required", value::flag)).unwrap_or(true);
    if required {
        scope.services.expect(&entry.value, entry.key);
    }
    keys::check(&entry.value, KeySection::Dependency);
    let conditions = ["service_started", "service_healthy", "service_completed_successfully"];
    let condition = match entry.value.required("condition")?.one_of(&conditions)? {
        "service_healthy" => Condition::Healthy,
        "service_completed_successfully" => Condition::Completed,
        _ => Condition::Started,
    };
    let exists = exists(&entry.value, entry.key, required, scope);
    Some(exists.then(|| (entry.key.to_owned(), condition)))
}

pub(crate) fn restart(cursor: &Cursor<'_>) -> Option<Restart> {
    let text = cursor.string()?;
    let word = text.split_once(':').map_or(text.as_str(), |it| it.0);
    match word {
        "always" | "unless-stopped" if word == text => Some(Restart::Always),
        "no" if word == text => Some(Restart::Ends),
        "on-failure" => Some(Restart::Ends),
        _ => cursor.mismatch("`always`, `unless-stopped`, `on-failure` or `no`"),
    }
}
