//! The workloads in a rendered chart.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::helm::workload::Kind;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Object {
    kind: String,
    metadata: Named,
    items: Vec<Object>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

/// The names of the workloads that should keep running, such as
/// `deployment/web`. Jobs end.
pub(super) fn lasting_workloads(manifest: &str) -> Result<BTreeSet<String>, String> {
    let objects: Vec<Option<Object>> = serde_saphyr::from_multiple(manifest)
        .map_err(|it| format!("the rendered chart is not valid YAML: {it}"))?;
    let mut names = BTreeSet::new();
    let mut rest: Vec<Object> = objects.into_iter().flatten().collect();
    while let Some(object) = rest.pop() {
        rest.extend(object.items);
        let kind = Kind::ALL.into_iter().find(|it| it.name() == object.kind);
        names.extend(kind.filter(|it| it.is_lasting()).map(|it| it.service(&object.metadata.name)));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_that_last_are_found() {
        let manifest = "
---
# Source: hello/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a: b}}
spec: {template: {metadata: {name: other}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
---
---
kind: List
items:
- {kind: StatefulSet, metadata: {name: db}}
---
kind: Job
metadata: {name: once}
";
        let found = lasting_workloads(manifest).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["deployment/web", "statefulset/db"]);
        assert!(lasting_workloads("").unwrap().is_empty());
        assert!(lasting_workloads("a: [").is_err());
    }
}
