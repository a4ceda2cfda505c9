//! What pods and warnings of a cluster say about a workload.

use serde_json::{Value, json};

use super::*;

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
        reason: "Failed".to_owned(),
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
fn program_for_another_architecture_is_named() {
    let exited = |log: &str| {
        let exited = Some(("p1".to_owned(), "web".to_owned()));
        let found = Problem { exited, ..problem(Code::Exited, "it exited") };
        let found = found.explained(&[log.to_owned()]);
        (found.code, found.detail)
    };
    let detail = "it exited: exec /web: exec format error: the image is for another architecture";
    assert_eq!(exited("exec /web: exec format error"), (Code::InvalidConfig, detail.to_owned()));
    assert_eq!(exited("bye"), (Code::Exited, "it exited".to_owned()));
}

#[test]
fn pods_of_another_template_do_not_count() {
    let with_hash = |hash: &str, created: &str, reason: &str| {
        let mut pod = pod(&container(reason, "x: not found", 0));
        pod.metadata.creation_timestamp = created.to_owned();
        pod.metadata.labels.insert(TEMPLATE.to_owned(), hash.to_owned());
        pod
    };
    let broken = with_hash("a", "2026-01-01T00:00:00Z", "ErrImagePull");
    let starting = with_hash("b", "2026-01-02T00:00:00Z", "ContainerCreating");
    let problem = |template: Option<&str>, pods: &[Pod]| {
        let workload = Workload::default();
        WorkloadObservation { workload: &workload, pods, template, events: &[] }.problem()
    };
    assert_eq!(problem(None, &[broken.clone(), starting.clone()]), None);
    assert!(problem(None, std::slice::from_ref(&broken)).is_some());
    // On the way back the wanted template is the older one.
    let pods = [broken, starting];
    assert!(problem(Some("a"), &pods).is_some());
    assert_eq!(problem(Some("b"), &pods), None);
    assert_eq!(problem(Some("c"), &pods), None);
}

#[test]
fn deadline_counts_for_pods_that_were_there() {
    let condition = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "it has timed out progressing.", "lastUpdateTime": "2026-01-01T00:01:00Z"});
    let workload = workload(&json!({ "conditions": [condition] }));
    let events = [event("u1", "Unhealthy", "Readiness probe failed: GET / 500\n")];
    let problem = |created: &str, ready: &str| {
        let condition = json!({"type": "Ready", "status": ready});
        let meta = json!({"name": "p1", "uid": "u1", "creationTimestamp": created});
        let pod = json!({"metadata": meta, "status": {"conditions": [condition]}});
        let pods = [serde_json::from_value(pod).unwrap()];
        let sight = WorkloadObservation {
            workload: &workload,
            pods: &pods,
            template: None,
            events: &events,
        };
        sight.problem().map(|it| (it.code, it.detail))
    };
    let detail = "it has timed out progressing. Pod p1: Readiness probe failed: GET / 500";
    let found = Some((Code::Unhealthy, detail.to_owned()));
    assert_eq!(problem("2026-01-01T00:00:00Z", "False"), found);
    assert_eq!(problem("2026-01-01T00:00:00Z", "True"), None);
    assert_eq!(problem("2026-01-01T00:01:00Z", "False"), None);
}

#[test]
fn stateful_set_without_pods_says_why_in_an_event() {
    let mut workload = workload(&json!({}));
    workload.metadata.uid = "w1".to_owned();
    let message = "create Pod db-0 failed error: admission webhook \"x\" denied the request";
    let events = [event("w1", "FailedCreate", message)];
    let problem = |pods: &[Pod]| {
        WorkloadObservation { workload: &workload, pods, template: None, events: &events }.problem()
    };
    assert_eq!(problem(&[]).map(|it| it.code), Some(Code::InvalidConfig));
    assert_eq!(problem(&[pod(&container("ContainerCreating", "", 0))]), None);
}

#[test]
fn pod_without_a_place_is_a_problem_unless_another_one_leaves() {
    let pod = |leaves: Option<&str>| -> Pod {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "1 Insufficient cpu"});
        let meta = json!({"name": "p1", "deletionTimestamp": leaves});
        serde_json::from_value(json!({"metadata": meta, "status": {"conditions": [condition]}}))
            .expect("a pod")
    };
    let problem = |pods: &[Pod]| {
        let workload = Workload::default();
        WorkloadObservation { workload: &workload, pods, template: None, events: &[] }.problem()
    };
    let found = problem(&[pod(None)]).expect("it waits for a place");
    assert_eq!(found.code, Code::EngineError);
    assert_eq!(found.detail, "pod p1 cannot be scheduled: 1 Insufficient cpu");
    assert_eq!(problem(&[pod(None), pod(Some("2026-01-01T00:00:00Z"))]), None);
}

#[test]
fn workload_reports_that_no_pod_may_be_created() {
    refused("pods \"x\" is forbidden: exceeded quota: q", Code::EngineError);
    refused("admission webhook \"x\" denied the request", Code::InvalidConfig);
    let away = "Internal error occurred: failed calling webhook \"x\": Post \"https://x\": dial tcp: connection refused";
    refused(away, Code::EngineError);
}

#[track_caller]
fn refused(message: &str, expected: Code) {
    let condition = |status: &str| {
        let condition = json!({"type": "ReplicaFailure", "status": status, "message": message});
        let workload = workload(&json!({ "conditions": [condition] }));
        let sight =
            WorkloadObservation { workload: &workload, pods: &[], template: None, events: &[] };
        sight.problem().map(|it| it.code)
    };
    assert_eq!(condition("True"), Some(expected), "{message}");
    assert_eq!(condition("False"), None, "{message}");
}

fn event(uid: &str, reason: &str, message: &str) -> Event {
    Event {
        kind: "Warning".to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        object: Object { uid: uid.to_owned() },
    }
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
