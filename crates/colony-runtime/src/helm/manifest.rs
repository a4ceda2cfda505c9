//! The objects in a rendered chart.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::helm::workload::Kind;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Object {
    kind: String,
    metadata: Metadata,
    items: Vec<Object>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

/// The names of the workloads that should keep running, such as
/// `deployment/web`. Jobs end.
pub(super) fn lasting_workloads(manifest: &str) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for object in objects(manifest)? {
        let kind = Kind::ALL.into_iter().find(|it| it.name() == object.kind);
        names.extend(kind.filter(|it| it.is_lasting()).map(|it| it.service(&object.metadata.name)));
    }
    Ok(names)
}

/// The jobs and the pods among hooks, by name.
pub(super) fn jobs_and_pods(hooks: &str) -> Result<(Vec<String>, Vec<String>), String> {
    let all = objects(hooks)?;
    let names = |kind: &str| -> Vec<String> {
        let named = all.iter().filter(|it| it.kind == kind);
        named.map(|it| it.metadata.name.clone()).collect()
    };
    Ok((names("Job"), names("Pod")))
}

/// All objects, also those in lists.
fn objects(manifest: &str) -> Result<Vec<Object>, String> {
    let parsed: Vec<Option<Object>> = serde_saphyr::from_multiple(manifest)
        .map_err(|it| format!("the rendered chart is not valid YAML: {it}"))?;
    let mut rest: Vec<Object> = parsed.into_iter().flatten().collect();
    let mut all = Vec::new();
    while let Some(mut object) = rest.pop() {
        rest.append(&mut object.items);
        all.push(object);
    }
    Ok(all)
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

    #[test]
    fn hooks_that_run_are_found() {
        let hooks = "kind: Job\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b}\n---\nkind: Secret\n";
        let expected = (vec!["a".to_owned()], vec!["b".to_owned()]);
        assert_eq!(jobs_and_pods(hooks), Ok(expected));
    }
}
