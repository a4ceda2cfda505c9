//! The state of a workload, from what the cluster reports of it and its pods.
//!
//! A workload is healthy when all of its pods run the current template and are
//! ready. It is unhealthy when there is a problem that does not go away by
//! waiting; until then it is starting.

mod problem;

pub(super) use problem::{
    Event, Pod, Problem, TEMPLATE, WorkloadObservation, current_pods, restarts,
};

use std::collections::BTreeMap;

use colony_core::node::{Health, Status};
use serde::Deserialize;

use crate::helm::api::Metadata;

/// The kinds of workloads that are observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] =
        [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::Job];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Deployment => "Deployment",
            Kind::StatefulSet => "StatefulSet",
            Kind::DaemonSet => "DaemonSet",
            Kind::Job => "Job",
        }
    }

    /// Where its objects are listed, cluster-wide or in a namespace.
    pub(super) fn path(self, namespace: Option<&str>) -> String {
        let group = match self {
            Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => "/apis/apps/v1",
            Kind::Job => "/apis/batch/v1",
        };
        let namespace = namespace.map(|it| format!("/namespaces/{it}")).unwrap_or_default();
        format!("{group}{namespace}/{}s", self.name().to_lowercase())
    }

    /// It should keep running; a job ends.
    pub(super) fn is_lasting(self) -> bool {
        self != Kind::Job
    }

    /// The service that a workload is observed as.
    pub(super) fn service(self, name: &str) -> String {
        format!("{}/{name}", self.name().to_lowercase())
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Workload {
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    pub(super) status: WorkloadStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    replicas: Option<i64>,
    completions: Option<i64>,
    pub(super) selector: Selector,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Selector {
    pub(super) match_labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WorkloadStatus {
    observed_generation: i64,
    replicas: i64,
    ready_replicas: i64,
    updated_replicas: i64,
    available_replicas: i64,
    current_revision: String,
    /// Of a stateful set: the template that is wanted.
    pub(super) update_revision: String,
    desired_number_scheduled: i64,
    updated_number_scheduled: i64,
    number_available: i64,
    succeeded: i64,
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
    last_update_time: String,
}

impl Workload {
    /// All of its pods run the current template and are ready. A job is never
    /// ready: it ends.
    pub(super) fn is_ready(&self, kind: Kind) -> bool {
        let status = &self.status;
        let wanted = self.spec.replicas.unwrap_or(1);
        self.is_observed()
            && match kind {
                Kind::Deployment => {
                    status.updated_replicas >= wanted
                        && status.available_replicas >= wanted
                        && status.replicas <= status.updated_replicas
                }
                Kind::StatefulSet => {
                    let updated = status.current_revision == status.update_revision
                        || status.updated_replicas >= wanted;
                    updated && status.ready_replicas >= wanted
                }
                Kind::DaemonSet => {
                    let wanted = status.desired_number_scheduled;
                    status.updated_number_scheduled >= wanted && status.number_available >= wanted
                }
                Kind::Job => false,
            }
    }

    /// Its status is about its current specification.
    pub(super) fn is_observed(&self) -> bool {
        self.status.observed_generation >= self.metadata.generation
    }

    pub(super) fn status(&self, kind: Kind) -> Status {
        if self.metadata.deletion_timestamp.is_some() {
            return Status::Stopped;
        }
        let failed = |it: &Condition| it.kind == "Failed" && it.status == "True";
        match kind {
            Kind::Job if self.status.succeeded >= self.spec.completions.unwrap_or(1) => {
                Status::Exited { code: 0 }
            }
            Kind::Job if self.status.conditions.iter().any(failed) => Status::Exited { code: 1 },
            Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet | Kind::Job => Status::Running,
        }
    }
}

pub(super) fn health_of(ready: bool, problem: Option<&Problem>) -> Health {
    match problem {
        _ if ready => Health::Healthy,
        Some(it) => Health::Unhealthy { code: it.code.clone(), detail: it.detail.clone() },
        None => Health::Starting,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn workload_is_ready_when_all_pods_run_the_current_template() {
        let done = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2});
        ready(Kind::Deployment, &done, true);
        ready(Kind::StatefulSet, &done, true);
        ready(Kind::Deployment, &with(&done, "observedGeneration", 1), false);
        ready(Kind::Deployment, &with(&done, "availableReplicas", 1), false);
        ready(Kind::Deployment, &with(&done, "updatedReplicas", 1), false);
        ready(Kind::Deployment, &with(&done, "replicas", 3), false);
        ready(Kind::StatefulSet, &with(&done, "readyReplicas", 1), false);
        let daemon = json!({"observedGeneration": 2, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberAvailable": 1});
        ready(Kind::DaemonSet, &daemon, true);
        ready(Kind::DaemonSet, &with(&daemon, "numberAvailable", 0), false);
        ready(Kind::Job, &done, false);
    }

    #[test]
    fn jobs_end() {
        let job = |status: Value| workload(&status).status(Kind::Job);
        assert_eq!(job(json!({})), Status::Running);
        assert_eq!(job(json!({"succeeded": 2})), Status::Exited { code: 0 });
        let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        assert_eq!(job(failed), Status::Exited { code: 1 });
    }

    #[track_caller]
    fn ready(kind: Kind, status: &Value, expected: bool) {
        assert_eq!(workload(status).is_ready(kind), expected, "{kind:?} {status}");
    }

    fn workload(status: &Value) -> Workload {
        let workload = json!({"metadata": {"generation": 2}, "spec": {"replicas": 2, "completions": 2}, "status": status});
        serde_json::from_value(workload).expect("a workload")
    }

    fn with(status: &Value, key: &str, value: i64) -> Value {
        let mut status = status.clone();
        status[key] = json!(value);
        status
    }
}
