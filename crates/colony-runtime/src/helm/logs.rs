//! The output of the pods of a deployment.

use colony_core::attempt::Failure;
use colony_core::margo::DeploymentId;

use crate::helm::engine::HelmEngine;
use crate::helm::kube_error::KubeError;
use crate::helm::observation::{pods_of, workloads};
use crate::logs::log_line::{Position, Printed};
use crate::logs::{LogPage, LogQuery, SHOWN_BYTES, page};
use crate::url::escaped;

/// A container of a pod.
struct Output {
    /// `workload/pod`, and the container if the pod has several.
    name: String,
    path: String,
}

impl HelmEngine {
    pub(super) async fn read_logs(
        &self,
        deployment: &DeploymentId,
        query: &LogQuery,
    ) -> Result<LogPage, Failure> {
        let failed = |it: KubeError| it.failed("read the logs");
        let outputs = self.outputs(deployment).await.map_err(failed)?;
        let names: Vec<String> = outputs.iter().map(|it| it.name.clone()).collect();
        query.check_service(&names)?;
        let position = Position::read(query.after.as_deref().unwrap_or_default());
        let mut lines = Vec::new();
        for output in &outputs {
            if !query.wants(&output.name) {
                continue;
            }
            lines.push((output.name.clone(), self.printed(output, query, &position).await));
        }
        Ok(page(lines, position))
    }

    async fn outputs(&self, deployment: &DeploymentId) -> Result<Vec<Output>, KubeError> {
        let releases = self.releases(Some(deployment)).await?;
        let namespaces = releases.iter().map(|it| it.id.namespace.as_str()).collect();
        let mut all = workloads(&self.api, namespaces).await?;
        let own: Vec<_> = releases.iter().filter_map(|it| all.remove(&it.id)).flatten().collect();
        let mut outputs = Vec::new();
        for (_, workload) in &own {
            for pod in pods_of(&self.api, workload).await? {
                let (meta, containers) = (&pod.metadata, &pod.spec.containers);
                for container in containers {
                    let plain = format!("{}/{}", workload.metadata.name, meta.name);
                    let name = match containers.len() {
                        1 => plain,
                        _ => format!("{plain}/{}", container.name),
                    };
                    let path = format!(
                        "/api/v1/namespaces/{}/pods/{}/log?timestamps=true&container={}",
                        meta.namespace,
                        meta.name,
                        escaped(&container.name)
                    );
                    outputs.push(Output { name, path });
                }
            }
        }
        outputs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(outputs)
    }

    /// The lines that the query selects. A container that has not started, or
    /// has no previous run, printed none.
    async fn printed(
        &self,
        output: &Output,
        query: &LogQuery,
        position: &Position,
    ) -> Vec<Printed> {
        let mut path = output.path.clone();
        if query.previous {
            path.push_str("&previous=true");
        }
        let since = query.after.as_ref().and_then(|_| position.since(&output.name)).or(query.since);
        if let Some(since) = since {
            path.push_str(&format!("&sinceTime={}", escaped(&stamp(since))));
        }
        if query.after.is_none() {
            path.push_str(&format!("&tailLines={}", query.limit()));
        }
        let text = self.api.text(&path, SHOWN_BYTES as u64).await.unwrap_or_default();
        let lines = text.lines().map(Printed::read).filter(|it| query.is_recent(it));
        match query.after {
            None => lines.collect(),
            Some(_) => {
                let mut reader = position.reader(&output.name);
                lines.filter(|it| reader.is_new(it)).take(query.limit() as usize).collect()
            }
        }
    }
}

/// The second as the API server reads it.
fn stamp(second: u64) -> String {
    let printed = Printed { time: Some(second * 1_000_000_000), text: String::new() };
    printed.write().trim_end().to_owned()
}
