//! Two engines of one node, of which one may be away.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use colony_core::margo::ComponentName;
use colony_core::node::{Health, Status};

use super::*;
use crate::config::EngineKind;

#[tokio::test]
async fn engine_that_is_away_hides_only_its_own_containers() {
    let (runtime, [docker, cluster]) = runtime();
    let known = BTreeSet::from([id(1), id(2)]);
    docker.shows(1);
    cluster.shows(2);
    assert_eq!(seen(&runtime, &known).await, (vec![id(1), id(2)], String::new()));
    cluster.away.store(true, Ordering::SeqCst);
    assert_eq!(seen(&runtime, &known).await, (vec![id(1)], "helm".to_owned()));
    docker.away.store(true, Ordering::SeqCst);
    let failure = runtime.observe(&known).await.unwrap_err();
    assert_eq!(failure.code, Code::EngineUnavailable);
}

#[tokio::test]
async fn removal_waits_for_engines_the_deployment_was_on() {
    let (runtime, [docker, cluster]) = runtime();
    docker.shows(1);
    cluster.shows(2);
    cluster.away.store(true, Ordering::SeqCst);
    let remove = async |number: u8| {
        runtime
            .perform(&Action::Remove { deployment: id(number), purge: false, images: false }, None)
            .await
    };
    // Nothing was seen yet: it may be on the one that is away.
    assert!(remove(1).await.is_err());
    let known = BTreeSet::from([id(1), id(2)]);
    runtime.observe(&known).await.unwrap();
    assert!(remove(1).await.is_ok());
    cluster.away.store(false, Ordering::SeqCst);
    runtime.observe(&known).await.unwrap();
    cluster.away.store(true, Ordering::SeqCst);
    assert!(remove(1).await.is_ok());
    assert_eq!(remove(2).await.unwrap_err().code, Code::EngineUnavailable);
}

async fn seen(runtime: &Runtime, known: &BTreeSet<DeploymentId>) -> (Vec<DeploymentId>, String) {
    let found = runtime.observe(known).await.unwrap();
    let ids = found.containers.into_iter().map(|it| it.deployment).collect();
    (ids, found.away.into_iter().collect::<Vec<_>>().join(" "))
}

fn id(number: u8) -> DeploymentId {
    DeploymentId::from_bytes([number; 16])
}

#[tokio::test]
async fn resources_are_those_of_the_machine_and_not_of_a_cluster() {
    for kinds in
        [[EngineKind::Docker, EngineKind::Kubernetes], [EngineKind::Kubernetes, EngineKind::Docker]]
    {
        assert_eq!(runtime_of(kinds).0.facts().await.os, "docker", "{kinds:?}");
    }
}

#[derive(Debug)]
struct FakeEngine {
    info: EngineInfo,
    away: AtomicBool,
    containers: Mutex<Vec<Container>>,
}

fn runtime() -> (Runtime, [Arc<FakeEngine>; 2]) {
    runtime_of([EngineKind::Docker, EngineKind::Kubernetes])
}

fn runtime_of(kinds: [EngineKind; 2]) -> (Runtime, [Arc<FakeEngine>; 2]) {
    let engines = kinds.map(|kind| {
        let info = EngineInfo { kind, version: String::new(), address: kind.name().to_owned() };
        Arc::new(FakeEngine { info, away: AtomicBool::new(false), containers: Mutex::default() })
    });
    let all = engines.clone().map(|it| it as Arc<dyn Engine>).to_vec();
    (Runtime { inner: Arc::new(Inner { engines: all, homes: Mutex::default() }) }, engines)
}

impl FakeEngine {
    fn shows(&self, number: u8) {
        let component: ComponentName = "web".parse().unwrap();
        self.containers.lock().push(Container {
            deployment: id(number),
            component,
            fingerprint: Digest::of(b"web"),
            staged: false,
            service: "web".to_owned(),
            run: "1".to_owned(),
            status: Status::Running,
            health: Health::None,
            log: Vec::new(),
        });
    }

    fn answer(&self) -> Result<(), Failure> {
        match self.away.load(Ordering::SeqCst) {
            true => Err(Failure::new(Code::EngineUnavailable, "no answer")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Engine for FakeEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn perform(&self, _: &Action, _: Option<&Job>) -> Result<Prepared, Failure> {
        self.answer().map(|()| Prepared::default())
    }

    async fn observe(&self, _: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        self.answer().map(|()| self.containers.lock().clone())
    }

    async fn changed(&self) {}

    async fn run(&self, _: CancellationToken) {}

    async fn collect(&self, _: &BTreeSet<Digest>) -> Result<(), Failure> {
        Ok(())
    }

    async fn logs(&self, _: &DeploymentId, _: &LogQuery) -> Result<LogPage, Failure> {
        Ok(LogPage::default())
    }

    async fn facts(&self) -> Facts {
        Facts { os: self.info.kind.name().to_owned(), ..Facts::default() }
    }

    fn progress(&self) -> Vec<PullProgress> {
        Vec::new()
    }

    async fn pulling(&self) {}
}
