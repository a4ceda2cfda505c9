//! The objects in a rendered chart.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::helm::workload::Kind;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Object {
    api_version: String,
    kind: String,
    metadata: Metadata,
    items: Vec<Object>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
}

/// An object whose deletion is noticed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectRef {
    /// Where objects of its kind are listed.
    pub(super) list: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// Kinds that a cluster keeps until they are deleted: their group, their name,
/// the name of their lists, and whether they are in a namespace. Jobs and pods
/// end, and what controllers do with other kinds is not known.
const KEPT: [(&str, &str, &str, bool); 14] = [
    ("", "ConfigMap", "configmaps", true),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", true),
    ("", "Secret", "secrets", true),
    ("", "Service", "services", true),
    ("", "ServiceAccount", "serviceaccounts", true),
    ("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true),
    ("batch", "CronJob", "cronjobs", true),
    ("networking.k8s.io", "Ingress", "ingresses", true),
    ("networking.k8s.io", "NetworkPolicy", "networkpolicies", true),
    ("policy", "PodDisruptionBudget", "poddisruptionbudgets", true),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", false),
    ("rbac.authorization.k8s.io", "Role", "roles", true),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", true),
];

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

/// The objects of a release in `namespace` whose deletion is noticed.
pub(super) fn kept_objects(manifest: &str, namespace: &str) -> Result<Vec<ObjectRef>, String> {
    let found = objects(manifest)?.into_iter().filter_map(|it| it.into_reference(namespace));
    Ok(found.collect::<BTreeSet<_>>().into_iter().collect())
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

impl Object {
    fn into_reference(self, namespace: &str) -> Option<ObjectRef> {
        let (group, _) = self.api_version.split_once('/').unwrap_or_default();
        let known = KEPT.iter().find(|it| it.0 == group && it.1 == self.kind)?;
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let place = match (known.3, self.metadata.namespace.as_str()) {
            (false, _) => String::new(),
            (true, "") => format!("/namespaces/{namespace}"),
            (true, own) => format!("/namespaces/{own}"),
        };
        let list = format!("{root}/{}{place}/{}", self.api_version, known.2);
        Some(ObjectRef { list, kind: self.kind, name: self.metadata.name })
    }
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
    fn objects_that_are_kept_have_a_place() {
        check_kept("v1", "ConfigMap", "{name: x}", "/api/v1/namespaces/here/configmaps/x");
        let elsewhere = "{name: x, namespace: there}";
        check_kept("v1", "Service", elsewhere, "/api/v1/namespaces/there/services/x");
        let path = "/apis/networking.k8s.io/v1/namespaces/here/ingresses/x";
        check_kept("networking.k8s.io/v1", "Ingress", "{name: x}", path);
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/x";
        check_kept("rbac.authorization.k8s.io/v1", "ClusterRole", "{name: x}", path);
        check_kept("serving.knative.dev/v1", "Service", "{name: x}", "");
        check_kept("batch/v1", "Job", "{name: x}", "");
    }

    #[track_caller]
    fn check_kept(version: &str, kind: &str, metadata: &str, expected: &str) {
        let object =
            format!("items: [{{apiVersion: {version}, kind: {kind}, metadata: {metadata}}}]");
        let found = kept_objects(&object, "here").unwrap();
        let found: Vec<String> =
            found.iter().map(|it| format!("{}/{}", it.list, it.name)).collect();
        assert_eq!(found.concat(), expected);
    }

    #[test]
    fn hooks_that_run_are_found() {
        let hooks = "kind: Job\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b}\n---\nkind: Secret\n";
        let expected = (vec!["a".to_owned()], vec!["b".to_owned()]);
        assert_eq!(jobs_and_pods(hooks), Ok(expected));
    }
}
