//! What of this node is on the cluster.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::node::{Container, Health, Status};
use futures_util::future::try_join_all;

use crate::helm::api::{KubeApi, Metadata, Named};
use crate::helm::kube_error::KubeError;
use crate::helm::release::{self, Origin, ReleaseId};
use crate::helm::workload::{
    Event, Kind, Pod, Problem, TEMPLATE, Workload, WorkloadObservation, current_pods, health_of,
    restarts,
};
use crate::url::escaped;

/// The service that stands for the release itself. A chart without workloads
/// has no other.
pub(super) const RELEASE: &str = "release";
/// Helm marks what it installs.
pub(super) const MANAGED: &str = "app.kubernetes.io/managed-by=Helm";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
/// Which template of its deployment a set of replicas has.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// How much of the log of a container that exited is shown.
const LOG_LINES: usize = 20;
const LOG_BYTES: u64 = 64 << 10;
/// Of how many pods of a workload the warnings are read, and how many of each.
const EVENT_PODS: usize = 3;
const EVENTS: usize = 50;

/// The newest record of a release of this node.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub(super) id: ReleaseId,
    pub(super) origin: Origin,
    /// As Helm writes it, such as `deployed`.
    pub(super) status: String,
    /// The revision Helm counts.
    pub(super) version: u64,
    /// The name of its secret.
    pub(super) record: String,
    /// It is about to be replaced by a start.
    pub(super) replaced: bool,
    /// Some revision of it was installed successfully.
    pub(super) was_deployed: bool,
    /// Helm ended with an earlier process of the node.
    pub(super) is_left_behind: bool,
    /// The revision is not one that this node made: `helm upgrade` and `helm
    /// rollback` copy the labels of another one.
    pub(super) by_hand: bool,
}

impl Release {
    /// Helm was interrupted: it refuses to work on the release.
    pub(super) fn is_pending(&self) -> bool {
        self.status.starts_with("pending-")
    }

    /// Helm removes it, or was interrupted while it did.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.status.as_str(), "uninstalling" | "uninstalled")
    }

    /// It is what this node installed, as far as Helm knows.
    pub(super) fn is_ours(&self) -> bool {
        self.status == "deployed" && !self.by_hand
    }

    pub(super) fn record_path(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets/{}", self.id.namespace, self.record)
    }

    fn container(&self, service: String, run: String, status: Status, health: Health) -> Container {
        Container {
            deployment: self.origin.deployment.clone(),
            component: self.origin.component.clone(),
            fingerprint: self.origin.fingerprint,
            staged: false,
            service,
            run,
            status,
            health,
            log: Vec::new(),
        }
    }

    /// The release, with whether objects of it were deleted. What was changed
    /// or deleted by hand is applied again, whatever came of it.
    fn itself(&self, is_damaged: bool) -> Container {
        let (status, health) = match self.status.as_str() {
            "deployed" if is_damaged => (Status::Stopped, Health::None),
            "deployed" | "failed" if self.by_hand => (Status::Stopped, Health::None),
            "deployed" => (Status::Running, Health::Healthy),
            "failed" => (Status::Exited { code: 1 }, Health::None),
            "uninstalling" | "uninstalled" => (Status::Stopped, Health::None),
            // Another start discards what was begun.
            _ if self.is_left_behind => (Status::Stopped, Health::None),
            _ => (Status::Starting, Health::Starting),
        };
        self.container(RELEASE.to_owned(), self.record.clone(), status, health)
    }
}

/// The newest record of each release, from all records.
pub(super) fn newest(records: Vec<Named>) -> Vec<Release> {
    let mut releases: BTreeMap<ReleaseId, Release> = BTreeMap::new();
    let mut deployed = BTreeSet::new();
    for record in records {
        let Some(release) = read(record.metadata) else { continue };
        if matches!(release.status.as_str(), "deployed" | "superseded") {
            deployed.insert(release.id.clone());
        }
        let newer = releases.get(&release.id).is_none_or(|it| it.version < release.version);
        if newer {
            releases.insert(release.id.clone(), release);
        }
    }
    let all = releases.into_values();
    all.map(|it| Release { was_deployed: deployed.contains(&it.id), ..it }).collect()
}

fn read(record: Metadata) -> Option<Release> {
    let get = |key: &str| record.labels.get(key).cloned();
    Some(Release {
        origin: Origin::read(&record.labels)?,
        id: ReleaseId { namespace: record.namespace.clone(), name: get("name")? },
        status: get("status").unwrap_or_default(),
        version: get("version")?.parse().ok()?,
        replaced: record.annotations.contains_key(release::REPLACED),
        was_deployed: false,
        is_left_behind: false,
        by_hand: get(release::REVISION).is_some_and(|it| Some(it) != get("version")),
        record: record.name,
    })
}

/// Workloads of releases in some namespaces, by release.
pub(super) type Workloads = BTreeMap<ReleaseId, Vec<(Kind, Workload)>>;

pub(super) async fn workloads(
    api: &KubeApi,
    namespaces: BTreeSet<&str>,
) -> Result<Workloads, KubeError> {
    let mut lists = Vec::new();
    for namespace in namespaces {
        lists.extend(Kind::ALL.map(|kind| workloads_of(api, namespace.to_owned(), kind)));
    }
    let mut found = Workloads::new();
    for (kind, workload) in try_join_all(lists).await?.into_iter().flatten() {
        let annotations = &workload.metadata.annotations;
        let (name, namespace) = (annotations.get(RELEASE_NAME), annotations.get(RELEASE_NAMESPACE));
        let (Some(name), Some(namespace)) = (name, namespace) else { continue };
        let id = ReleaseId { namespace: namespace.clone(), name: name.clone() };
        found.entry(id).or_default().push((kind, workload));
    }
    Ok(found)
}

async fn workloads_of(
    api: &KubeApi,
    namespace: String,
    kind: Kind,
) -> Result<Vec<(Kind, Workload)>, KubeError> {
    let all: Vec<Workload> = api.list(&kind.path(Some(&namespace)), MANAGED).await?;
    Ok(all.into_iter().map(|it| (kind, it)).collect())
}

/// The containers of a release: itself, and its workloads.
pub(super) async fn containers(
    api: &KubeApi,
    release: &Release,
    is_damaged: bool,
    workloads: &[(Kind, Workload)],
) -> Result<Vec<Container>, KubeError> {
    let mut all = vec![release.itself(is_damaged)];
    for (kind, workload) in workloads {
        let ready = workload.is_ready(*kind);
        let (mut problem, mut pods) = (None, Vec::new());
        if !ready && kind.is_lasting() {
            pods = pods_of(api, workload).await?;
            if workload.is_observed() {
                problem = problem_of(api, *kind, workload, &pods).await?;
            }
        }
        let meta = &workload.metadata;
        let run = format!("{}/{}/{}", meta.uid, meta.generation, restarts(&pods));
        let log = last_lines(api, &meta.namespace, problem.as_ref(), "&previous=true").await;
        let problem = problem.map(|it| it.explained(&log));
        let health = match kind.is_lasting() {
            true => health_of(ready, problem.as_ref()),
            false => Health::None,
        };
        let service = kind.service(&meta.name);
        let mut container = release.container(service, run, workload.status(*kind), health);
        container.log = log;
        all.push(container);
    }
    Ok(all)
}

async fn problem_of(
    api: &KubeApi,
    kind: Kind,
    workload: &Workload,
    pods: &[Pod],
) -> Result<Option<Problem>, KubeError> {
    let template = template(api, kind, workload).await?;
    let template = template.as_deref();
    let events = events(api, workload, pods, template).await?;
    Ok(WorkloadObservation { workload, pods, template, events: &events }.problem())
}

/// The template that the pods should run, as the label of the cluster for it.
/// The newest pod may be one of the version before: on the way back, the
/// template is older than that.
async fn template(
    api: &KubeApi,
    kind: Kind,
    workload: &Workload,
) -> Result<Option<String>, KubeError> {
    match kind {
        Kind::Deployment => {
            let path =
                format!("/apis/apps/v1/namespaces/{}/replicasets", workload.metadata.namespace);
            let sets = api.list_metadata(&path, &selector_of(workload)).await?;
            let revision = |it: &Named| it.metadata.annotations.get(REVISION)?.parse::<u64>().ok();
            let newest = sets.into_iter().max_by_key(revision);
            Ok(newest.and_then(|it| it.metadata.labels.get(TEMPLATE).cloned()))
        }
        Kind::StatefulSet => Ok(Some(workload.status.update_revision.clone())),
        Kind::DaemonSet | Kind::Job => Ok(None),
    }
}

/// The pods a workload selects.
pub(super) async fn pods_of(api: &KubeApi, workload: &Workload) -> Result<Vec<Pod>, KubeError> {
    let selector = selector_of(workload);
    if selector.is_empty() {
        return Ok(Vec::new());
    }
    let path = format!("/api/v1/namespaces/{}/pods", workload.metadata.namespace);
    api.list(&path, &selector).await
}

fn selector_of(workload: &Workload) -> String {
    let labels = workload.spec.selector.match_labels.iter();
    let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}

/// The warnings about a workload that has no pods, or about its current pods. A
/// namespace may have thousands, most of them about the workloads of others.
async fn events(
    api: &KubeApi,
    workload: &Workload,
    pods: &[Pod],
    template: Option<&str>,
) -> Result<Vec<Event>, KubeError> {
    let current = current_pods(pods, template);
    let mut subjects: Vec<&Metadata> = current.iter().map(|it| &it.metadata).collect();
    if pods.is_empty() {
        subjects.push(&workload.metadata);
    }
    events_of(api, &subjects).await
}

/// The warnings about some objects.
pub(super) async fn events_of(
    api: &KubeApi,
    subjects: &[&Metadata],
) -> Result<Vec<Event>, KubeError> {
    let lists = subjects.iter().take(EVENT_PODS).map(|it| warnings(api, it));
    Ok(try_join_all(lists).await?.concat())
}

async fn warnings(api: &KubeApi, subject: &Metadata) -> Result<Vec<Event>, KubeError> {
    let path = format!("/api/v1/namespaces/{}/events", subject.namespace);
    let fields = format!("involvedObject.uid={},type=Warning", subject.uid);
    api.list_by_fields(&path, &fields, EVENTS).await
}

/// The end of the log of a container that exited; `run` selects the run before
/// the current one, or none.
pub(super) async fn last_lines(
    api: &KubeApi,
    namespace: &str,
    problem: Option<&Problem>,
    run: &str,
) -> Vec<String> {
    let Some((pod, container)) = problem.and_then(|it| it.exited.as_ref()) else {
        return Vec::new();
    };
    let path = format!(
        "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={}&tailLines={LOG_LINES}{run}",
        escaped(container)
    );
    let text = api.text(&path, LOG_BYTES).await.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use colony_core::margo::DeploymentId;
    use serde_json::json;

    use super::*;

    #[test]
    fn newest_record_of_a_release_counts() {
        check("1 deployed", "deployed 1 was-deployed");
        check("1 superseded, 2 deployed", "deployed 2 was-deployed");
        check("10 pending-upgrade, 9 deployed", "pending-upgrade 10 was-deployed");
        check("1 failed", "failed 1");
        check("1 pending-install", "pending-install 1");
    }

    #[test]
    fn release_is_observed_by_its_status() {
        let status = |it: &str| newest(vec![record(1, it)])[0].itself(false).status;
        assert_eq!(status("deployed"), Status::Running);
        assert_eq!(status("failed"), Status::Exited { code: 1 });
        assert_eq!(status("pending-install"), Status::Starting);
        assert_eq!(status("uninstalling"), Status::Stopped);
        let damaged = |it: &str| newest(vec![record(1, it)])[0].itself(true).status;
        assert_eq!(damaged("deployed"), Status::Stopped);
        assert_eq!(damaged("pending-upgrade"), Status::Starting);
    }

    /// Helm copies the labels of another revision.
    #[test]
    fn revision_made_by_hand_counts_as_stopped() {
        let status = |it: &str| {
            let mut by_hand = record(1, it);
            by_hand.metadata.labels.insert("version".to_owned(), "2".to_owned());
            newest(vec![by_hand])[0].itself(false).status
        };
        assert_eq!(status("deployed"), Status::Stopped);
        assert_eq!(status("failed"), Status::Stopped);
        assert_eq!(status("pending-upgrade"), Status::Starting);
        let mut former = record(1, "deployed");
        former.metadata.labels.remove(release::REVISION);
        assert_eq!(newest(vec![former])[0].itself(false).status, Status::Running);
    }

    #[test]
    fn operation_left_behind_is_not_waited_for() {
        let status = |it: &str| {
            let release = newest(vec![record(1, it)]).remove(0);
            Release { is_left_behind: true, ..release }.itself(false).status
        };
        assert_eq!(status("pending-upgrade"), Status::Stopped);
        // Its record is used again.
        assert_eq!(status("deployed"), Status::Running);
    }

    #[test]
    fn record_without_labels_of_colony_is_not_ours() {
        let bare = json!({"metadata": {"name": "x", "labels": {"owner": "helm", "version": "1"}}});
        assert!(newest(vec![serde_json::from_value(bare).unwrap()]).is_empty());
    }

    #[track_caller]
    fn check(records: &str, expected: &str) {
        let records = records.split(", ").map(|it| {
            let (version, status) = it.split_once(' ').unwrap();
            record(version.parse().unwrap(), status)
        });
        let found = newest(records.collect());
        let [it] = found.as_slice() else { panic!("{found:?}") };
        let mark = if it.was_deployed { " was-deployed" } else { "" };
        assert_eq!(format!("{} {}{mark}", it.status, it.version), expected);
    }

    fn record(version: u64, status: &str) -> Named {
        let origin = Origin {
            deployment: DeploymentId::from_bytes([7; 16]),
            component: "web".parse().unwrap(),
            fingerprint: colony_core::margo::Digest::of(b"web"),
            chart: String::new(),
        };
        let mut labels: BTreeMap<String, String> = origin
            .labels("n1", "a/n1", version)
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let version = version.to_string();
        labels.extend(
            [("name", "hello-web"), ("status", status), ("version", &version)]
                .map(|it| (it.0.to_owned(), it.1.to_owned())),
        );
        let name = format!("sh.helm.release.v1.hello-web.v{version}");
        Named { metadata: Metadata { name, labels, ..Metadata::default() } }
    }
}
