//! A central orchestrator on a port of its own, and a site that talks to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use colony_api::client::{Client, Server};
use colony_api::request::{DeployRequest, SiteAdd};
use colony_api::site::{BatchAnswer, EventBatch, GitAuth, Hints, SiteJoinRequest, SiteJoined};
use colony_api::view::{DeploymentView, Outcome};
use colony_central::{Config, start};
use colony_core::id::PlacementId;
use colony_core::site::{Input, Seed};
use colony_core::state::State;
use colony_core::why::{self, AnswerUpdate, Surroundings};
use colony_git::{Auth, Remote, Watch};
use colony_testkit::Plant;
use colony_wfm::{Answer, Credentials, Link, PrivateKey, SpiffeId, Trust, join, tls};
use http::Method;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running role; dropping it ends it like a crash.
pub(crate) struct Hub {
    pub(crate) dir: PathBuf,
    pub(crate) url: String,
    pub(crate) client: Client,
    stop: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
}

impl Hub {
    pub(crate) async fn start(dir: &Path) -> Hub {
        Hub::with(dir, |_| {}).await
    }

    pub(crate) async fn with(dir: &Path, change: impl FnOnce(&mut Config)) -> Hub {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let mut config = Config::new(dir.join("central"), listen);
        change(&mut config);
        let central = start(config).await.expect("it starts");
        let read = |path: PathBuf| std::fs::read_to_string(path).expect("a file");
        let url = central.url();
        let client = Client::new(Server {
            url: url.clone(),
            token: Some(read(central.admin_token_path()).trim().to_owned()),
            ca_pem: Some(read(central.ca_path())),
        });
        let stop = CancellationToken::new();
        let running = tokio::spawn(central.run(stop.clone()));
        Hub { dir: dir.to_owned(), url, client: client.expect("a client"), stop, running }
    }

    /// Ends the role and waits until every task of it has ended.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.running).await.expect("it does not panic").expect("it ends well");
    }

    pub(crate) fn token(&self) -> String {
        let path = self.dir.join("central/admin.token");
        std::fs::read_to_string(path).expect("a token").trim().to_owned()
    }

    pub(crate) fn ca(&self) -> String {
        std::fs::read_to_string(self.dir.join("central/ca/ca.pem")).expect("a root")
    }

    /// A request as anybody could send it, with the operator's token.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        self.send_as(&self.token(), method, path, body).await
    }

    /// The same with another token.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: &str,
    ) -> Answer {
        let bearer = format!("Bearer {token}");
        self.send_with(method, path, &[("authorization", &bearer)], body).await
    }

    /// The list at this path, unless it is as it was with this ETag.
    pub(crate) async fn list_unless(&self, path: &str, etag: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token());
        let headers = [("authorization", bearer.as_str()), ("if-none-match", etag)];
        self.send_with(Method::GET, path, &headers, "").await
    }

    async fn send_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let tls = tls::client_config(None, Trust::RootsAnyHost { pem: &self.ca() });
        let link = Link::new(&self.url, tls.expect("TLS")).expect("a link");
        let body = Bytes::copy_from_slice(body.as_bytes());
        link.send(method, path, headers, body, 1 << 20, Duration::from_secs(30))
            .await
            .expect("an answer")
    }

    /// A token with this role, for these sites only if there are any.
    pub(crate) async fn made(&self, role: &str, sites: &[&str]) -> String {
        let name = format!("{role}-{}", sites.join("-"));
        let body = serde_json::json!({"name": name, "role": role, "sites": sites}).to_string();
        let answer = self.send(Method::POST, "/api/v1/tokens", &body).await;
        let made: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        made["token"].as_str().expect("a token").to_owned()
    }

    /// A site with one orchestrator that has read Git, and these nodes.
    pub(crate) async fn site(&self, nodes: &[&str]) -> Lo {
        let add = SiteAdd { name: "home".to_owned(), ..SiteAdd::default() };
        let invite = self.client.site_add(&add).await.expect("a site");
        let mut lo = Lo::join(self, &invite.token, false).await.expect("it joins");
        lo.plant.must(Input::Seed(Box::new(lo.seed().await)));
        lo.pull().await;
        nodes.iter().for_each(|it| lo.plant.join(it));
        lo.plant.pass(1);
        lo.push().await;
        lo
    }

    pub(crate) async fn deploy(&self, version: &str) {
        let request = hello(version);
        let answer = self.client.deploy(&request).await.expect("a plan");
        assert!(answer.accepted, "{answer:?}");
    }

    /// Waits for an event of this kind behind the position, and returns it.
    pub(crate) async fn event(&self, kind: &str, after: i64) -> colony_api::view::EventView {
        use colony_api::client::Signal;
        use colony_api::request::EventQuery;
        let query = EventQuery { kind: Some(kind.to_owned()), ..EventQuery::default() };
        let start = Some(self.cursor(after).await);
        let stream = self.client.event_follow(query, start).await;
        let mut stream = stream.expect("a stream");
        let next = async {
            loop {
                if let Signal::Event(event) = stream.next().await.expect("a signal") {
                    return *event;
                }
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), next).await;
        waited.unwrap_or_else(|_| panic!("no event `{kind}` behind {after}"))
    }

    pub(crate) async fn head(&self) -> i64 {
        self.client.event_list(&Default::default()).await.expect("a page").next
    }

    pub(crate) async fn show(&self) -> DeploymentView {
        self.client.deployment_show("hello").await.expect("the deployment")
    }

    /// The deployment when nothing moves, as an operator who watches sees it.
    pub(crate) async fn end(&self) -> DeploymentView {
        let start = Some(self.cursor(self.head().await).await);
        let stream = self.client.event_follow(Default::default(), start).await;
        let mut stream = stream.expect("a stream");
        let watched = async {
            loop {
                let view = self.show().await;
                if view.outcome.is_end() {
                    return view;
                }
                stream.next().await.expect("a signal");
            }
        };
        match tokio::time::timeout(Duration::from_secs(20), watched).await {
            Ok(view) => view,
            Err(_) => panic!("it does not end: {:#?}", self.show().await),
        }
    }

    pub(crate) async fn cursor(&self, position: i64) -> String {
        let page = self.client.event_list(&Default::default()).await.expect("a page");
        format!("{}-{position}", page.epoch)
    }

    #[track_caller]
    pub(crate) fn check(&self, view: &DeploymentView, outcome: Outcome, sentence: &str) {
        assert_eq!(view.outcome, outcome, "{view:#?}");
        assert!(view.sentence.contains(sentence), "{}", view.sentence);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.running.abort();
    }
}

pub(crate) fn hello(version: &str) -> DeployRequest {
    DeployRequest {
        application: "hello".to_owned(),
        version: Some(version.to_owned()),
        ..DeployRequest::default()
    }
}

/// A local orchestrator: the real core, a real certificate, a real clone.
pub(crate) struct Lo {
    pub(crate) plant: Plant,
    pub(crate) link: Link,
    pub(crate) tls: std::sync::Arc<rustls::ClientConfig>,
    pub(crate) key: PrivateKey,
    pub(crate) joined: SiteJoined,
    /// Holds the clone.
    _dir: tempfile::TempDir,
    watch: std::sync::Arc<Watch>,
    sent: usize,
    reports: u64,
    pushes: AtomicU64,
}

impl Lo {
    pub(crate) async fn join(hub: &Hub, token: &str, replace: bool) -> Result<Lo, String> {
        Lo::join_with(hub, PrivateKey::generate().expect("a key"), token, replace).await
    }

    pub(crate) async fn join_with(
        hub: &Hub,
        key: PrivateKey,
        token: &str,
        replace: bool,
    ) -> Result<Lo, String> {
        let csr = key.csr().expect("a request");
        let request = SiteJoinRequest { token: token.to_owned(), csr, replace };
        let now = 1_700_000_000;
        let asked = join::ask::<SiteJoined>(token, &request, now).await;
        let joined = asked.map_err(|it| it.to_string())?.0;
        let own = Credentials {
            chain_pem: joined.chain.clone(),
            key_pem: key.to_pem(),
            roots_pem: joined.roots.clone(),
        };
        let expect = SpiffeId::central(&joined.domain).expect("an id");
        let trust = Trust::Roots { pem: &joined.roots, expect };
        let tls = tls::client_config(Some(&own), trust).expect("TLS");
        let dir = tempfile::tempdir().expect("a folder");
        let remote = Remote {
            url: joined.git.url.clone(),
            auth: match joined.git.auth {
                GitAuth::Mtls => Auth::Mtls { tls: tls.clone() },
                GitAuth::None | GitAuth::Ssh | GitAuth::Token => Auth::None,
            },
        };
        let (at, branch) = (dir.path().join("clone"), joined.git.branch.clone());
        let watch = tokio::task::spawn_blocking(move || Watch::open(&at, remote, &branch));
        let watch = watch.await.expect("no panic").expect("a clone");
        let link = Link::new(&hub.url, tls.clone()).expect("a link");
        let plant = Plant::unseeded(joined.incarnation);
        let watch = watch.into();
        Ok(Lo {
            plant,
            link,
            tls,
            key,
            joined,
            _dir: dir,
            watch,
            sent: 0,
            reports: 1_000,
            pushes: AtomicU64::new(1),
        })
    }

    pub(crate) async fn seed(&self) -> Seed {
        let answer = self.call(Method::GET, "seed", "").await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).expect("a seed")
    }

    pub(crate) async fn call(&self, method: Method, what: &str, body: &str) -> Answer {
        let incarnation = self.joined.incarnation.to_string();
        let headers = [("colony-incarnation", incarnation.as_str()), ("prefer", "wait=20")];
        let path = format!("/api/v1/sites/{}/{what}", self.joined.site);
        self.send(method, &path, &headers, body).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let sent = self.link.send(method, path, headers, body, 1 << 24, Duration::from_secs(30));
        sent.await.expect("an answer")
    }

    /// Reads Git and takes what is there.
    pub(crate) async fn pull(&mut self) {
        let (watch, site) = (self.watch.clone(), self.plant.site.name().clone());
        let base = self.plant.site.git().cloned();
        let read = move || {
            watch.fetch()?;
            watch.commit(&site, base.as_ref())
        };
        let read = tokio::task::spawn_blocking(read).await.expect("no panic");
        if let Some(commit) = read.expect("Git answers") {
            self.plant.must(Input::Commit(commit));
        }
    }

    /// Sends the log on.
    pub(crate) async fn push(&mut self) {
        let answer = self.push_raw().await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        let answer: BatchAnswer = serde_json::from_slice(&answer.body).expect("an answer");
        self.sent = usize::try_from(answer.next_seq).expect("a small log") - 1;
    }

    /// All answers of the site go with every batch.
    pub(crate) async fn push_raw(&self) -> Answer {
        let events = self.plant.events[self.sent..].to_vec();
        let changed = why::answers(&self.plant.site, &Surroundings::default(), self.plant.now);
        let number = self.pushes.fetch_add(1, Ordering::Relaxed);
        let answers = Some(AnswerUpdate { session: 1, number, complete: true, changed });
        let batch = EventBatch { incarnation: self.joined.incarnation, events, answers };
        let body = serde_json::to_string(&batch).expect("JSON");
        self.call(Method::POST, "events", &body).await
    }

    /// Sends the whole log again; answers with the number wanted next.
    pub(crate) async fn push_all(&mut self) -> u64 {
        self.sent = 0;
        self.push().await;
        self.sent as u64 + 1
    }

    pub(crate) async fn hints(&self, query: &str) -> Option<Hints> {
        let answer = self.call(Method::GET, &format!("hints?{query}"), "").await;
        (answer.status == 200).then(|| serde_json::from_slice(&answer.body).expect("hints"))
    }

    /// Waits until Git has moved, takes it, lets the nodes do it and tells.
    pub(crate) async fn follow(&mut self) {
        let head = self.plant.site.git().map(|it| it.to_string()).unwrap_or_default();
        let hints = self.hints(&format!("head={head}")).await;
        assert!(hints.is_some(), "nothing moved");
        self.pull().await;
        self.converge();
        self.plant.pass(1);
        self.push().await;
    }

    /// Executes the commands that wait.
    pub(crate) async fn obey(&mut self) {
        let done = self.plant.site.commands_done();
        let head = self.plant.site.git().map(|it| it.to_string()).unwrap_or_default();
        let hints = self.hints(&format!("head={head}&command={done}")).await;
        for command in hints.expect("a command").commands {
            let _ = self.plant.step(Input::Command(command));
        }
        self.converge();
        self.push().await;
    }

    /// Every node that has something under way says how it ended.
    pub(crate) fn report(&mut self, state: &str) {
        let placed: Vec<_> = self.plant.site.placements().map(|it| it.id.clone()).collect();
        placed.into_iter().for_each(|it| self.report_one(it, state));
    }

    fn report_one(&mut self, id: PlacementId, state: &str) {
        self.reports += 1;
        let adopted = self.plant.version(id.node.as_str());
        let status = colony_testkit::status(&id.deployment, state, adopted, self.reports);
        let _ = self.plant.step(Input::Status { node: id.node, status: Box::new(status) });
    }

    /// Every node follows its manifest, until nothing moves.
    pub(crate) fn converge(&mut self) {
        loop {
            let site = &self.plant.site;
            let online =
                |it: &PlacementId| site.site_node(&it.node).is_some_and(|it| it.is_online());
            let open: Vec<(PlacementId, &str)> = site
                .placements()
                .filter(|it| online(&it.id))
                .filter_map(|it| Some((it.id.clone(), next(it.state())?)))
                .collect();
            if open.is_empty() {
                return;
            }
            open.into_iter().for_each(|(id, state)| self.report_one(id, state));
        }
    }
}

/// What a node says of a placement that is under way.
fn next(state: State) -> Option<&'static str> {
    if state == State::Deleting {
        return Some("removed");
    }
    state.is_in_progress().then_some("installed")
}
