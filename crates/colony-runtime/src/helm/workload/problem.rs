//! Why a workload does not get ready, from its pods and the warnings of the
//! cluster about them.

use colony_core::code::Code;
use serde::Deserialize;

use super::{Condition, Workload};
use crate::helm::api::{Metadata, one_line};
use crate::messages;

/// How often a container may exit before its workload counts as failed.
const EXITS: i64 = 3;
/// The label of a pod for the template of its deployment.
pub(in crate::helm) const TEMPLATE: &str = "pod-template-hash";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::helm) struct Pod {
    pub(in crate::helm) metadata: Metadata,
    pub(in crate::helm) spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::helm) struct PodSpec {
    pub(in crate::helm) containers: Vec<NamedContainer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::helm) struct NamedContainer {
    pub(in crate::helm) name: String,
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
pub(in crate::helm) struct Event {
    #[serde(rename = "type")]
    kind: String,
    reason: String,
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
pub(in crate::helm) struct Problem {
    pub(in crate::helm) code: Code,
    pub(in crate::helm) detail: String,
    /// The pod and the container that exited.
    pub(in crate::helm) exited: Option<(String, String)>,
}

impl Problem {
    /// The problem with what the container printed before it exited. A program
    /// for another architecture exits like any other, with a message of the
    /// container runtime.
    pub(in crate::helm) fn explained(self, log: &[String]) -> Problem {
        let of_runtime = |it: &&String| {
            let it = it.to_lowercase();
            it.contains("exec ") && it.ends_with("exec format error")
        };
        match log.last().filter(of_runtime) {
            Some(line) if self.code == Code::Exited => {
                let detail =
                    format!("{}: {line}: the image is for another architecture", self.detail);
                Problem { exited: self.exited, ..problem(Code::InvalidConfig, &detail) }
            }
            _ => self,
        }
    }
}

/// A workload that is not ready, with what may say why.
#[derive(Debug, Clone, Copy)]
pub(in crate::helm) struct WorkloadObservation<'a> {
    pub(in crate::helm) workload: &'a Workload,
    pub(in crate::helm) pods: &'a [Pod],
    /// See [`current_pods`].
    pub(in crate::helm) template: Option<&'a str>,
    pub(in crate::helm) events: &'a [Event],
}

impl WorkloadObservation<'_> {
    /// Why the workload will not get ready by waiting.
    pub(in crate::helm) fn problem(&self) -> Option<Problem> {
        let current = current_pods(self.pods, self.template);
        let of_containers = current.iter().find_map(|it| it.problem(self.events));
        // A pod that is on its way out still holds what another one waits for.
        let makes_room = self.pods.iter().any(|it| it.metadata.deletion_timestamp.is_some());
        let mut waiting = current.iter().filter(|_| !makes_room);
        of_containers
            .or_else(|| waiting.find_map(|it| it.unschedulable()))
            .or_else(|| self.of_workload(&current))
    }

    /// What the workload itself reports: no pod could be created, or none got
    /// ready in its own deadline.
    fn of_workload(&self, current: &[&Pod]) -> Option<Problem> {
        let refused = |it: &str| problem(creation_code(it), it);
        let condition = self.workload.status.conditions.iter().find_map(|it| {
            match (it.kind.as_str(), it.status.as_str()) {
                ("ReplicaFailure", "True") => Some(refused(&it.message)),
                ("Progressing", "False") if it.reason == "ProgressDeadlineExceeded" => {
                    self.timed_out(current, it)
                }
                _ => None,
            }
        });
        // Only deployments have such a condition.
        let failed = |it: &&Event| {
            it.reason == "FailedCreate" && it.object.uid == self.workload.metadata.uid
        };
        let events = self.events.iter().filter(|_| self.pods.is_empty());
        condition.or_else(|| events.rev().find(failed).map(|it| refused(&it.message)))
    }

    /// A pod that is younger than the condition was not meant by it: the
    /// condition stays for a moment when the next template is on its way.
    fn timed_out(&self, current: &[&Pod], condition: &Condition) -> Option<Problem> {
        let late = |it: &&&Pod| {
            !it.is_ready() && it.metadata.creation_timestamp < condition.last_update_time
        };
        let pod = current.iter().find(late)?;
        let about =
            |it: &&Event| it.object.uid == pod.metadata.uid && it.message.contains("probe failed");
        let probe = self.events.iter().rev().find(about);
        let probe = probe.map(|it| format!(" Pod {}: {}", pod.metadata.name, it.message));
        let detail = format!("{}{}", condition.message, probe.unwrap_or_default());
        Some(problem(Code::Unhealthy, &detail))
    }
}

/// The code of a message about pods that could not be created. What others have
/// to set right does not count against the revision.
fn creation_code(message: &str) -> Code {
    const ENVIRONMENT: [&str; 6] = [
        "exceeded quota",
        "failed calling webhook",
        "failed to call webhook",
        "internal error",
        "timeout",
        "connection refused",
    ];
    let message = message.to_lowercase();
    match ENVIRONMENT.iter().any(|it| message.contains(it)) {
        true => Code::EngineError,
        false => Code::InvalidConfig,
    }
}

/// How often containers of the pods were restarted.
pub(in crate::helm) fn restarts(pods: &[Pod]) -> i64 {
    pods.iter().flat_map(|it| &it.status.container_statuses).map(|it| it.restart_count).sum()
}

/// The pods that run this template, given as the label of the cluster for it;
/// others are being replaced. If it is not known, the newest pod decides.
pub(in crate::helm) fn current_pods<'a>(pods: &'a [Pod], template: Option<&str>) -> Vec<&'a Pod> {
    let live = || pods.iter().filter(|it| it.metadata.deletion_timestamp.is_none());
    let newest = live().max_by_key(|it| &it.metadata.creation_timestamp);
    let current = template.or_else(|| newest.and_then(Pod::template));
    live().filter(|it| it.template() == current).collect()
}

impl Pod {
    fn template(&self) -> Option<&str> {
        let labels = &self.metadata.labels;
        let hash = labels.get(TEMPLATE).or_else(|| labels.get("controller-revision-hash"));
        hash.map(String::as_str)
    }

    fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|it| it.kind == "Ready" && it.status == "True")
    }

    fn problem(&self, events: &[Event]) -> Option<Problem> {
        let init = self.status.init_container_statuses.iter();
        let mut all = init.chain(&self.status.container_statuses);
        all.find_map(|it| it.problem(&self.metadata, events))
    }

    /// Why a pod that should end did not, or not well.
    pub(in crate::helm) fn why_not_done(&self, events: &[Event]) -> Option<Problem> {
        let init = self.status.init_container_statuses.iter();
        let mut all = init.chain(&self.status.container_statuses);
        all.find_map(|it| it.failure(&self.metadata))
            .or_else(|| self.problem(events))
            .or_else(|| self.unschedulable())
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
    /// It ended with a code that is not 0 and is not started again.
    fn failure(&self, pod: &Metadata) -> Option<Problem> {
        let ended = self.state.terminated.as_ref().filter(|it| it.exit_code != 0)?;
        let detail = format!(
            "container `{}` of pod {} exited with code {}",
            self.name, pod.name, ended.exit_code
        );
        let exited = Some((pod.name.clone(), self.name.clone()));
        Some(Problem { exited, ..problem(Code::Exited, &detail) })
    }

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
mod tests;
