//! What is done to a deployment, and how its end is seen: by the stream of
//! events at the central orchestrator.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use colony_api::request::{DeleteQuery, DeployRequest, EventQuery, SettingsChange, StrategyChange};
use colony_api::view::EventView;
use colony_api::{Client, EventStream, Signal};

use crate::clock;
use crate::engine::cluster;
use crate::fleet::SITE;

/// The node of the cluster.
const KUBERNETES: &str = "kubernetes";
const PATIENCE: Duration = Duration::from_secs(60);

/// When something was asked for, taken, and seen to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) sent: Instant,
    pub(crate) accepted: Instant,
    pub(crate) seen: Instant,
    /// When it was accepted and seen, and when Git had it, as the logs tell time.
    pub(crate) wall: WallTimes,
}

/// Microseconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WallTimes {
    pub(crate) sent: i64,
    pub(crate) accepted: i64,
    pub(crate) committed: i64,
    pub(crate) seen: i64,
}

/// Follows everything that happens in the fleet.
#[derive(Debug)]
pub(crate) struct Story {
    client: Client,
    stream: EventStream,
    /// When the last commit was recorded.
    committed: i64,
}

impl Story {
    pub(crate) async fn follow(client: &Client) -> anyhow::Result<Story> {
        let stream = client.event_follow(EventQuery::default(), None).await;
        let stream = stream.context("could not follow the events")?;
        Ok(Story { client: client.clone(), stream, committed: 0 })
    }

    /// Deploys and waits for INSTALLED.
    pub(crate) async fn deploy(
        &mut self,
        name: &str,
        version: &str,
        node: &str,
    ) -> anyhow::Result<Times> {
        self.ask(name, request(name, version, node)?).await
    }

    /// The same with a strategy, which later deploys keep.
    pub(crate) async fn deploy_by(
        &mut self,
        strategy: StrategyChange,
        name: &str,
        version: &str,
        node: &str,
    ) -> anyhow::Result<Times> {
        let settings = SettingsChange { strategy, ..SettingsChange::default() };
        self.ask(name, DeployRequest { settings, ..request(name, version, node)? }).await
    }

    async fn ask(&mut self, name: &str, request: DeployRequest) -> anyhow::Result<Times> {
        let mut wall = WallTimes { sent: clock::wall(), ..WallTimes::default() };
        let sent = clock::now();
        let answer = self.client.deploy(&request).await.context("could not deploy")?;
        let accepted = clock::now();
        wall.accepted = clock::wall();
        anyhow::ensure!(answer.accepted, "there was nothing to deploy");
        self.reached(name, "INSTALLED").await?;
        let seen = clock::now();
        (wall.seen, wall.committed) = (clock::wall(), self.committed);
        Ok(Times { sent, accepted, seen, wall })
    }

    /// Deletes and waits until it is gone.
    pub(crate) async fn delete(&mut self, name: &str) -> anyhow::Result<()> {
        let asked = self.client.deployment_delete(name, &DeleteQuery::default()).await;
        asked.context("could not delete")?;
        self.reached(name, "DELETED").await
    }

    /// Waits for a transition of the deployment to this state.
    pub(crate) async fn reached(&mut self, name: &str, state: &str) -> anyhow::Result<()> {
        let waiting = async {
            loop {
                let event = self.next().await?;
                if event.kind == "committed" {
                    self.committed = i64::try_from(event.at.0).unwrap_or(0) * 1000;
                }
                let found = event.kind == "state_transition"
                    && event.deployment.as_deref() == Some(name)
                    && to(&event) == Some(state);
                if found {
                    return Ok(());
                }
                if to(&event).is_some_and(|it| it.starts_with("FAILED")) {
                    bail!("{}", event.sentence);
                }
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(reached) => reached,
            Err(_) => bail!("{name} did not become {state}"),
        }
    }

    async fn next(&mut self) -> anyhow::Result<EventView> {
        loop {
            match self.stream.next().await? {
                Signal::Event(event) => return Ok(*event),
                Signal::Reset | Signal::Lost(_) | Signal::Resumed => {}
            }
        }
    }
}

/// On the node `kubernetes` the chart runs, with an image that the cluster pulls.
fn request(name: &str, version: &str, node: &str) -> anyhow::Result<DeployRequest> {
    let (mut profile, mut parameters) = (None, BTreeMap::new());
    if node == KUBERNETES {
        profile = Some("helm".to_owned());
        parameters.insert("image".to_owned(), cluster::image()?.into());
    }
    Ok(DeployRequest {
        application: "hello".to_owned(),
        version: Some(version.to_owned()),
        name: Some(name.to_owned()),
        sites: vec![SITE.to_owned()],
        node: Some(format!("{SITE}/{node}")),
        profile,
        parameters,
        ..DeployRequest::default()
    })
}

fn to(event: &EventView) -> Option<&str> {
    let body = event.body.get("body").unwrap_or(&event.body);
    body.get("to")?.as_str()
}
