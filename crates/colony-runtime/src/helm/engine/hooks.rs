//! What hooks of a release say when Helm reports that they failed: Helm itself
//! only says that a job failed, or that it did not end in time.

use colony_core::attempt::Failure;

use super::HelmEngine;
use super::installation::RENDER_TIME;
use crate::helm::api::Metadata;
use crate::helm::kube_error::KubeError;
use crate::helm::manifest::jobs_and_pods;
use crate::helm::observation::{events_of, last_lines};
use crate::helm::program::is_about_hooks;
use crate::helm::release::ReleaseId;
use crate::helm::workload::{Pod, Problem};

impl HelmEngine {
    /// The failure of a start, with what the pods of a failed hook report. Pods
    /// that a chart has removed after the failure report nothing.
    pub(super) async fn explained(&self, id: &ReleaseId, failure: Failure) -> Failure {
        if !is_about_hooks(&failure.message) {
            return failure;
        }
        let pods = self.hook_pods(id).await.unwrap_or_default();
        let Some(problem) = self.hook_problem(&pods).await else { return failure };
        let log = last_lines(&self.api, &id.namespace, Some(&problem), "").await;
        let problem = problem.explained(&log);
        let message = format!("{}: {}", failure.message, problem.detail);
        Failure { log, ..Failure::new(problem.code, message) }
    }

    /// The pods of the hooks of the newest revision, newest first.
    async fn hook_pods(&self, id: &ReleaseId) -> Option<Vec<Pod>> {
        let arguments = ["get", "hooks", &id.name, "--namespace", &id.namespace];
        let hooks = self.run_helm("read the hooks", &arguments, RENDER_TIME).await.ok()?;
        let (jobs, alone) = jobs_and_pods(&hooks).ok()?;
        let path = format!("/api/v1/namespaces/{}/pods", id.namespace);
        let mut pods = Vec::new();
        if !jobs.is_empty() {
            let selector = format!("job-name in ({})", jobs.join(","));
            pods = self.api.list::<Pod>(&path, &selector).await.ok()?;
        }
        for name in alone {
            let pod: Result<Pod, KubeError> = self.api.get(&format!("{path}/{name}")).await;
            pods.extend(pod);
        }
        let age = |it: &Pod| it.metadata.creation_timestamp.clone();
        pods.sort_by_key(|it| std::cmp::Reverse(age(it)));
        Some(pods)
    }

    async fn hook_problem(&self, pods: &[Pod]) -> Option<Problem> {
        let subjects: Vec<&Metadata> = pods.iter().map(|it| &it.metadata).collect();
        let events = events_of(&self.api, &subjects).await.unwrap_or_default();
        pods.iter().find_map(|it| it.why_not_done(&events))
    }
}
