//! The state of a workload, from what the cluster reports of it and its pods.
//!
//! A workload is healthy when all of its pods run the current template and are
//! ready. It is unhealthy when a pod reports a cause that does not go away by
//! waiting; until then it is starting.

use std::collections::BTreeMap;

use colony_core::code::Code;
use colony_core::node::{Health, Status};
use serde::Deserialize;

use crate::helm::api::{Metadata, one_line};
use crate::messages;

/// How often a container may exit before its workload counts as failed.
const EXITS: i64 = 3;

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
    update_revision: String,
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
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Metadata,
    pub(super) spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodSpec {
    pub(super) containers: Vec<NamedContainer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NamedContainer {
    pub(super) name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
    init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus {
    name: String,
    restart_count: i64,
    state: ContainerState,
    last_state: ContainerState,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
    terminated: Option<Terminated>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
    message: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Terminated {
    exit_code: i64,
}

/// An event the cluster recorded about a pod.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Event {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    #[serde(rename = "involvedObject")]
    object: Object,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Object {
    uid: String,
}

/// Why a workload does not get ready, and the pod whose log tells more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: Code,
    pub(super) detail: String,
    /// The pod and the container that exited.
    pub(super) exited: Option<(String, String)>,
}

impl Workload {
    /// All of its pods run the current template and are ready. A job is never
    /// ready: it ends.
    pub(super) fn is_ready(&self, kind: Kind) -> bool {
        let status = &self.status;
        let wanted = self.spec.replicas.unwrap_or(1);
        let observed = status.observed_generation >= self.metadata.generation;
        observed
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

    /// What the workload itself reports: no pod could be created, or none got
    /// ready in its own deadline.
    fn own_problem(&self) -> Option<Problem> {
        self.status.conditions.iter().find_map(|it| match (it.kind.as_str(), it.status.as_str()) {
            ("ReplicaFailure", "True") => {
                let code = match it.message.contains("exceeded quota") {
                    true => Code::EngineError,
                    false => Code::InvalidConfig,
                };
                Some(problem(code, &it.message))
            }
            ("Progressing", "False") if it.reason == "ProgressDeadlineExceeded" => {
                Some(problem(Code::Unhealthy, &it.message))
            }
            _ => None,
        })
    }
}

/// Why a workload that is not ready will not get ready by waiting.
pub(super) fn problem_of(workload: &Workload, pods: &[Pod], events: &[Event]) -> Option<Problem> {
    let current = youngest(pods);
    let of_containers = current.iter().find_map(|it| it.problem(events));
    // A pod that is on its way out still holds what another one waits for.
    let makes_room = pods.iter().any(|it| it.metadata.deletion_timestamp.is_some());
    let mut waiting = current.iter().filter(|_| !makes_room);
    of_containers
        .or_else(|| waiting.find_map(|it| it.unschedulable()))
        .or_else(|| workload.own_problem())
}

pub(super) fn health_of(ready: bool, problem: Option<&Problem>) -> Health {
    match problem {
        _ if ready => Health::Healthy,
        Some(it) => Health::Unhealthy { code: it.code.clone(), detail: it.detail.clone() },
        None => Health::Starting,
    }
}

/// How often containers of the pods were restarted.
pub(super) fn restarts(pods: &[Pod]) -> i64 {
    pods.iter().flat_map(|it| &it.status.container_statuses).map(|it| it.restart_count).sum()
}

/// The pods of the newest template: those before it are being replaced.
fn youngest(pods: &[Pod]) -> Vec<&Pod> {
    let live = || pods.iter().filter(|it| it.metadata.deletion_timestamp.is_none());
    let newest = live().max_by_key(|it| &it.metadata.creation_timestamp);
    let template = |it: &Pod| {
        let labels = &it.metadata.labels;
        labels.get("pod-template-hash").or_else(|| labels.get("controller-revision-hash")).cloned()
    };
    let current = newest.and_then(template);
    live().filter(|it| template(it) == current).collect()
}

impl Pod {
    fn problem(&self, events: &[Event]) -> Option<Problem> {
        let init = self.status.init_container_statuses.iter();
        let mut all = init.chain(&self.status.container_statuses);
        all.find_map(|it| it.problem(&self.metadata, events))
    }

    fn unschedulable(&self) -> Option<Problem> {
        let waits = |it: &&Condition| it.kind == "PodScheduled" && it.reason == "Unschedulable";
        let condition = self.status.conditions.iter().find(waits)?;
        let detail =
            format!("pod {} cannot be scheduled: {}", self.metadata.name, condition.message);
        Some(problem(Code::EngineError, &detail))
    }
}

impl ContainerStatus {
    fn problem(&self, pod: &Metadata, events: &[Event]) -> Option<Problem> {
        let waiting = self.state.waiting.as_ref()?;
        let name = format!("container `{}` of pod {}", self.name, pod.name);
        match waiting.reason.as_str() {
            "ErrImagePull" | "ImagePullBackOff" | "ErrImageNeverPull" => {
                let message = pull_message(pod, events).unwrap_or(&waiting.message);
                let code = messages::of_pull(message).unwrap_or(Code::RegistryUnavailable);
                Some(problem(code, &format!("{name}: {}: {message}", waiting.reason)))
            }
            "InvalidImageName" | "CreateContainerConfigError" => Some(problem(
                Code::InvalidConfig,
                &format!("{name}: {}: {}", waiting.reason, waiting.message),
            )),
            "CreateContainerError" | "RunContainerError" => {
                let code = messages::of_start(&waiting.message).unwrap_or(Code::InvalidConfig);
                Some(problem(code, &format!("{name}: {}", waiting.message)))
            }
            "CrashLoopBackOff" if self.restart_count + 1 >= EXITS => {
                let exit = self.last_state.terminated.as_ref().map_or(0, |it| it.exit_code);
                let times = self.restart_count + 1;
                let detail = format!("{name} exited with code {exit}, {times} times");
                let exited = Some((pod.name.clone(), self.name.clone()));
                Some(Problem { exited, ..problem(Code::Exited, &detail) })
            }
            _ => None,
        }
    }
}

/// What the cluster said when it failed to pull an image of the pod. The state
/// of a container repeats it only at times.
fn pull_message<'a>(pod: &Metadata, events: &'a [Event]) -> Option<&'a str> {
    let about = |it: &&Event| it.object.uid == pod.uid && it.kind == "Warning";
    let mut messages = events.iter().filter(about).map(|it| it.message.as_str());
    messages.rfind(|it| it.starts_with("Failed to pull image"))
}

fn problem(code: Code, detail: &str) -> Problem {
    Problem { code, detail: one_line(detail), exited: None }
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

    #[test]
    fn pods_name_the_cause() {
        let missing = r#"failed to pull and unpack image "r/x:1": failed to resolve reference "r/x:1": r/x:1: not found"#;
        waiting("ErrImagePull", missing, Some(Code::ImageMissing));
        waiting(
            "ErrImagePull",
            "dial tcp 1.2.3.4:5000: connect: connection refused",
            Some(Code::RegistryUnavailable),
        );
        waiting("ErrImagePull", "pull access denied, unauthorized", Some(Code::RegistryDenied));
        waiting(
            "ImagePullBackOff",
            "Back-off pulling image \"r/x:1\"",
            Some(Code::RegistryUnavailable),
        );
        waiting("CreateContainerConfigError", "secret \"x\" not found", Some(Code::InvalidConfig));
        waiting(
            "RunContainerError",
            "exec: \"/nope\": stat /nope: no such file",
            Some(Code::InvalidConfig),
        );
        waiting("ContainerCreating", "", None);
        waiting("CrashLoopBackOff", "back-off 10s", None);
    }

    #[test]
    fn event_says_more_than_a_state_that_backs_off() {
        let pod = pod(&container("ImagePullBackOff", "Back-off pulling image \"r/x:1\"", 0));
        let event = |uid: &str| Event {
            kind: "Warning".to_owned(),
            message: "Failed to pull image \"r/x:1\": manifest unknown".to_owned(),
            object: Object { uid: uid.to_owned() },
        };
        let code = |events: &[Event]| pod.problem(events).map(|it| it.code);
        assert_eq!(code(&[event("u1")]), Some(Code::ImageMissing));
        assert_eq!(code(&[event("other")]), Some(Code::RegistryUnavailable));
    }

    #[test]
    fn container_that_exits_again_and_again_has_failed() {
        let found = pod(&container("CrashLoopBackOff", "", EXITS - 1)).problem(&[]);
        let found = found.expect("it exited often enough");
        assert_eq!(found.code, Code::Exited);
        assert_eq!(found.detail, "container `web` of pod p1 exited with code 7, 3 times");
        assert_eq!(found.exited, Some(("p1".to_owned(), "web".to_owned())));
        assert_eq!(pod(&container("CrashLoopBackOff", "", EXITS - 2)).problem(&[]), None);
    }

    #[test]
    fn pods_of_an_earlier_template_do_not_count() {
        let with_hash = |hash: &str, created: &str, reason: &str| {
            let mut pod = pod(&container(reason, "x: not found", 0));
            pod.metadata.creation_timestamp = created.to_owned();
            pod.metadata.labels.insert("pod-template-hash".to_owned(), hash.to_owned());
            pod
        };
        let broken = with_hash("a", "2026-01-01T00:00:00Z", "ErrImagePull");
        let starting = with_hash("b", "2026-01-02T00:00:00Z", "ContainerCreating");
        let problem = |pods: &[Pod]| problem_of(&Workload::default(), pods, &[]);
        assert_eq!(problem(&[broken.clone(), starting.clone()]), None);
        assert!(problem(std::slice::from_ref(&broken)).is_some());
    }

    #[test]
    fn pod_without_a_place_is_a_problem_unless_another_one_leaves() {
        let pod = |leaves: Option<&str>| -> Pod {
            let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "1 Insufficient cpu"});
            let meta = json!({"name": "p1", "deletionTimestamp": leaves});
            serde_json::from_value(json!({"metadata": meta, "status": {"conditions": [condition]}}))
                .expect("a pod")
        };
        let problem = |pods: &[Pod]| problem_of(&Workload::default(), pods, &[]);
        let found = problem(&[pod(None)]).expect("it waits for a place");
        assert_eq!(found.code, Code::EngineError);
        assert_eq!(found.detail, "pod p1 cannot be scheduled: 1 Insufficient cpu");
        assert_eq!(problem(&[pod(None), pod(Some("2026-01-01T00:00:00Z"))]), None);
    }

    #[test]
    fn workload_reports_that_no_pod_may_be_created() {
        let condition = |kind: &str, status: &str, reason: &str, message: &str| {
            let status = json!({"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]});
            problem_of(&workload(&status), &[], &[]).map(|it| it.code)
        };
        let quota = "pods \"x\" is forbidden: exceeded quota: q";
        assert_eq!(
            condition("ReplicaFailure", "True", "FailedCreate", quota),
            Some(Code::EngineError)
        );
        let webhook = "admission webhook \"x\" denied the request";
        assert_eq!(
            condition("ReplicaFailure", "True", "FailedCreate", webhook),
            Some(Code::InvalidConfig)
        );
        assert_eq!(
            condition("Progressing", "False", "ProgressDeadlineExceeded", "x"),
            Some(Code::Unhealthy)
        );
        assert_eq!(condition("Progressing", "True", "ReplicaSetUpdated", "x"), None);
    }

    #[track_caller]
    fn ready(kind: Kind, status: &Value, expected: bool) {
        assert_eq!(workload(status).is_ready(kind), expected, "{kind:?} {status}");
    }

    #[track_caller]
    fn waiting(reason: &str, message: &str, expected: Option<Code>) {
        let found = pod(&container(reason, message, 0)).problem(&[]);
        assert_eq!(found.map(|it| it.code), expected, "{reason}: {message}");
    }

    fn workload(status: &Value) -> Workload {
        let workload = json!({"metadata": {"generation": 2}, "spec": {"replicas": 2, "completions": 2}, "status": status});
        serde_json::from_value(workload).expect("a workload")
    }

    fn pod(container: &Value) -> Pod {
        let pod = json!({"metadata": {"name": "p1", "uid": "u1"}, "status": {"containerStatuses": [container]}});
        serde_json::from_value(pod).expect("a pod")
    }

    fn container(reason: &str, message: &str, restarts: i64) -> Value {
        json!({
            "name": "web",
            "restartCount": restarts,
            "state": {"waiting": {"reason": reason, "message": message}},
            "lastState": {"terminated": {"exitCode": 7}},
        })
    }

    fn with(status: &Value, key: &str, value: i64) -> Value {
        let mut status = status.clone();
        status[key] = json!(value);
        status
    }
}
