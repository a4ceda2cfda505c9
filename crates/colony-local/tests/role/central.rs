//! A small central orchestrator: join, seed, events, hints, over real TLS.
//!
//! It keeps what it received and checks the chain of the log; `away` makes it
//! answer nothing but 503.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use tokio::sync::watch;

use colony_api::problem::{Fenced, Kind};
use colony_api::site::{
    BatchAnswer, EventBatch, GitAccess, GitAuth, Hints, HintsQuery, NodesReport, SiteJoinRequest,
    SiteJoined, SiteRenewRequest, SiteRenewed,
};
use colony_core::event::{Event, Log};
use colony_core::site::Seed;
use colony_core::why::AnswerUpdate;
use colony_wfm::{
    Authority, Claims, ClientAuth, Credentials, LogAnswer, Peer, PrivateKey, Refusal, Reloader,
    SpiffeId, TlsListener, TokenKind, TokenSigner, tls, token,
};

use crate::{now, soon};

const FLEET: &str = "fleet.test";

#[derive(Clone)]
pub(crate) struct Central(Arc<Inner>);

struct Inner {
    authority: Authority,
    /// Who signs after a renewal: nothing from before is trusted.
    next: Authority,
    reloader: Reloader,
    /// How many seconds ago the certificates of joining sites began.
    age: AtomicI64,
    renewals: watch::Sender<u32>,
    signer: TokenSigner,
    git: String,
    pub_addr: SocketAddr,
    away: AtomicBool,
    fenced: AtomicBool,
    alive: AtomicBool,
    /// The largest body it takes.
    room: AtomicUsize,
    /// The next answers with this text do not reach its database.
    loses: Mutex<Option<String>>,
    answers: watch::Sender<Vec<AnswerUpdate>>,
    used: Mutex<BTreeSet<String>>,
    log: Mutex<Log>,
    events: watch::Sender<Vec<Event>>,
    hints: watch::Sender<Hints>,
    report: watch::Sender<Option<NodesReport>>,
    logs: watch::Sender<Option<(String, LogAnswer)>>,
}

impl Central {
    pub(crate) async fn start(git: &std::path::Path) -> Central {
        let authority = Authority::create(FLEET, now()).expect("a CA");
        let config = config(&authority);
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TlsListener::bind(anywhere, config).await.expect("a port");
        let central = Central(Arc::new(Inner {
            authority,
            next: Authority::create(FLEET, now()).expect("a CA"),
            reloader: listener.reloader(),
            age: AtomicI64::new(0),
            renewals: watch::Sender::default(),
            signer: TokenSigner::generate().expect("a key"),
            git: git.display().to_string(),
            pub_addr: listener.local_addr(),
            away: AtomicBool::new(false),
            fenced: AtomicBool::new(false),
            alive: AtomicBool::new(false),
            room: AtomicUsize::new(usize::MAX),
            loses: Mutex::default(),
            answers: watch::Sender::default(),
            used: Mutex::default(),
            log: Mutex::new(Log::new("plant".parse().expect("a name"), 0)),
            events: watch::Sender::default(),
            hints: watch::Sender::default(),
            report: watch::Sender::default(),
            logs: watch::Sender::default(),
        }));
        let (router, stop) = (router(central.clone()), std::future::pending());
        tokio::spawn(colony_wfm::serve(listener, router, Peer::of, stop, Duration::ZERO));
        central
    }

    /// A token of the site's orchestrator.
    pub(crate) fn site_token(&self, id: &str, lifetime: i64) -> String {
        let url = format!("https://{}", self.0.pub_addr);
        let pin = self.0.authority.fingerprint();
        self.token(TokenKind::Site, id, vec![url], pin, lifetime)
    }

    /// A token of the site's orchestrator that may replace a living one.
    pub(crate) fn replacing_token(&self, id: &str) -> String {
        let claims = token::read(&self.site_token(id, 3_600)).expect("our token");
        self.0.signer.sign(&Claims { replace: true, ..claims })
    }

    /// A token of a node, once the site has told where it is.
    pub(crate) async fn node_token(&self, id: &str, lifetime: i64) -> String {
        let mut report = self.0.report.subscribe();
        let report =
            soon("a report", report.wait_for(Option::is_some)).await.expect("a report").clone();
        let report = report.expect("a report");
        self.token(TokenKind::Node, id, report.urls, report.ca, lifetime)
    }

    fn token(
        &self,
        kind: TokenKind,
        id: &str,
        urls: Vec<String>,
        pin: String,
        life: i64,
    ) -> String {
        let (id, site) = (id.to_owned(), "plant".to_owned());
        let expires = now() + life;
        self.0.signer.sign(&Claims { kind, id, site, urls, pin, expires, replace: false })
    }

    pub(crate) fn set_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    /// Bodies above this are refused.
    pub(crate) fn set_room(&self, bytes: usize) {
        self.0.room.store(bytes, Ordering::SeqCst);
    }

    /// Loses the next answers with this text, and says so to the site.
    pub(crate) fn lose_answers(&self, text: &str) {
        *self.0.loses.lock().expect("no panic") = Some(text.to_owned());
    }

    /// Goes back to the first `count` events, as a restored backup does.
    pub(crate) fn restore(&self, count: usize) {
        let mut log = self.0.log.lock().expect("no panic");
        *log = Log::new("plant".parse().expect("a name"), 0);
        self.0.events.send_modify(|it| it.truncate(count));
        self.events().iter().for_each(|it| log.follow(it).expect("its own log"));
    }

    /// Waits until `is` likes the answers that came so far.
    pub(crate) async fn answers(&self, is: impl Fn(&[AnswerUpdate]) -> bool) {
        let mut answers = self.0.answers.subscribe();
        soon("answers", answers.wait_for(|it| is(it))).await.expect("answers");
    }

    pub(crate) fn set_fenced(&self) {
        self.0.fenced.store(true, Ordering::SeqCst);
        self.hint(|_| {});
    }

    /// The site has an orchestrator that was heard a moment ago.
    pub(crate) fn set_alive(&self) {
        self.0.alive.store(true, Ordering::SeqCst);
    }

    /// Sites get certificates that are past half of their life.
    pub(crate) fn set_old(&self) {
        self.0.age.store(3_000, Ordering::SeqCst);
    }

    /// Waits until a site's certificate was renewed.
    pub(crate) async fn renewed(&self) {
        let mut renewals = self.0.renewals.subscribe();
        soon("a renewal", renewals.wait_for(|it| *it > 0)).await.expect("a renewal");
    }

    pub(crate) fn hint(&self, change: impl FnOnce(&mut Hints)) {
        self.0.hints.send_modify(change);
    }

    /// Waits until an event came that `is` likes.
    pub(crate) async fn event(&self, is: impl Fn(&Event) -> bool) -> Event {
        let mut events = self.0.events.subscribe();
        let found =
            soon("an event", events.wait_for(|it| it.iter().any(&is))).await.expect("events");
        found.iter().find(|it| is(it)).expect("it was found").clone()
    }

    /// Waits until `is` likes the log as a whole.
    pub(crate) async fn all(&self, is: impl Fn(&[Event]) -> bool) {
        let mut events = self.0.events.subscribe();
        soon("the log", events.wait_for(|it| is(it))).await.expect("events");
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.events.borrow().clone()
    }

    pub(crate) async fn reported(&self, is: impl Fn(&NodesReport) -> bool) -> NodesReport {
        let mut report = self.0.report.subscribe();
        let found = report.wait_for(|it| it.as_ref().is_some_and(&is));
        let found = soon("a report", found).await.expect("a report");
        found.clone().expect("a report")
    }

    pub(crate) async fn logs(&self) -> (String, LogAnswer) {
        let mut logs = self.0.logs.subscribe();
        let found = soon("logs", logs.wait_for(Option::is_some)).await.expect("logs").clone();
        found.expect("logs")
    }
}

fn config(authority: &Authority) -> Arc<rustls::ServerConfig> {
    let key = PrivateKey::generate().expect("a key");
    let id = SpiffeId::central(FLEET).expect("an id");
    let hosts = ["127.0.0.1".to_owned()];
    let csr = key.csr().expect("a request");
    let chain = authority.sign(&csr, &id, &hosts, now(), Duration::from_secs(3_600));
    let own = Credentials {
        chain_pem: chain.expect("a certificate"),
        key_pem: key.to_pem(),
        roots_pem: authority.root_pem().to_owned(),
    };
    tls::server_config(&own, ClientAuth::Optional).expect("TLS")
}

fn router(central: Central) -> Router {
    Router::new()
        .route("/api/v1/sites/{site}/events", post(events))
        .route("/api/v1/sites/{site}/nodes", put(nodes))
        .route("/api/v1/sites/{site}/hints", get(hints))
        .route("/api/v1/sites/{site}/seed", get(|| async { Json(Seed::default()) }))
        .route("/api/v1/sites/{site}/logs/{id}", post(logs))
        .route("/colony/v1/renew", post(renew))
        .layer(middleware::from_fn_with_state(central.clone(), site_only))
        .route("/colony/v1/join", post(join))
        .layer(middleware::from_fn_with_state(central.clone(), present))
        .with_state(central)
}

async fn present(State(central): State<Central>, request: Request, next: Next) -> Response {
    if central.0.away.load(Ordering::SeqCst) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let length = request.headers().get("content-length").and_then(|it| it.to_str().ok());
    let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
    if length > central.0.room.load(Ordering::SeqCst) {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    }
    next.run(request).await
}

async fn site_only(
    State(central): State<Central>,
    axum::extract::ConnectInfo(peer): axum::extract::ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let id = SpiffeId::site_client(FLEET, "plant").expect("an id");
    if peer.id != Some(id) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if central.0.fenced.load(Ordering::SeqCst) {
        let problem = Kind::Fenced.problem("incarnation 1 has joined");
        return (StatusCode::CONFLICT, Json(Fenced { problem, current: 1 })).into_response();
    }
    next.run(request).await
}

async fn join(
    State(central): State<Central>,
    Json(request): Json<SiteJoinRequest>,
) -> Result<Json<SiteJoined>, Refusal> {
    let inner = &*central.0;
    let claims = token::verify(&request.token, &inner.signer.public(), now()).expect("our token");
    if inner.alive.load(Ordering::SeqCst) && !request.replace {
        return Err(Kind::SiteAlive.problem("site `plant` was in contact 3 s ago").into());
    }
    if !inner.used.lock().expect("no panic").insert(claims.id) {
        return Err(Kind::TokenUsed.problem("the invitation was already used").into());
    }
    let id = SpiffeId::site_client(FLEET, &claims.site).expect("an id");
    let life = Duration::from_secs(3_600);
    let from = now() - inner.age.load(Ordering::SeqCst);
    let chain = inner.authority.sign(&request.csr, &id, &[], from, life).expect("signed");
    let git = GitAccess { url: inner.git.clone(), branch: "main".to_owned(), auth: GitAuth::None };
    Ok(Json(SiteJoined {
        chain,
        roots: inner.authority.root_pem().to_owned(),
        site: claims.site,
        incarnation: 0,
        domain: FLEET.to_owned(),
        token_public: inner.signer.public(),
        git,
    }))
}

async fn renew(
    State(central): State<Central>,
    Json(request): Json<SiteRenewRequest>,
) -> Json<SiteRenewed> {
    let inner = &*central.0;
    let id = SpiffeId::site_client(FLEET, "plant").expect("an id");
    let life = Duration::from_secs(3_600);
    let chain = inner.next.sign(&request.csr, &id, &[], now(), life).expect("signed");
    inner.reloader.set(config(&inner.next));
    inner.renewals.send_modify(|it| *it += 1);
    Json(SiteRenewed { chain, roots: inner.next.root_pem().to_owned() })
}

async fn events(
    State(central): State<Central>,
    Json(batch): Json<EventBatch>,
) -> Result<Json<BatchAnswer>, Refusal> {
    let mut log = central.0.log.lock().expect("no panic");
    let text = serde_json::to_string(&batch.answers).expect("JSON");
    let mut loses = central.0.loses.lock().expect("no panic");
    let answers_incomplete = loses.take_if(|it| text.contains(it.as_str())).is_some();
    let answers = batch.answers.filter(|_| !answers_incomplete);
    central.0.answers.send_modify(|it| it.extend(answers));
    if batch.events.first().is_some_and(|it| it.seq > log.next) {
        return Ok(Json(BatchAnswer { next_seq: log.next, answers_incomplete }));
    }
    let fresh: Vec<Event> = batch.events.into_iter().filter(|it| it.seq >= log.next).collect();
    for event in &fresh {
        let follows = log.follow(event);
        follows.map_err(|it| Kind::Diverged.problem(it.to_string()))?;
    }
    central.0.events.send_modify(|it| it.extend(fresh));
    Ok(Json(BatchAnswer { next_seq: log.next, answers_incomplete }))
}

async fn nodes(State(central): State<Central>, Json(report): Json<NodesReport>) -> StatusCode {
    central.0.report.send_replace(Some(report));
    StatusCode::NO_CONTENT
}

async fn hints(State(central): State<Central>, Query(have): Query<HintsQuery>) -> Response {
    let mut hints = central.0.hints.subscribe();
    let news = |it: &Hints| {
        let head = it.head.as_ref().map(|it| it.to_string());
        let moved = head.is_some() && head != have.head;
        let ordered = it.commands.iter().any(|it| it.number > Some(have.command));
        let logs = it.logs.last().map(|it| it.id.clone());
        let fenced = central.0.fenced.load(Ordering::SeqCst);
        fenced || moved || ordered || (logs.is_some() && logs != have.logs)
    };
    let held = tokio::time::timeout(Duration::from_secs(20), hints.wait_for(news)).await;
    if central.0.away.load(Ordering::SeqCst) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    match held {
        Ok(Ok(hints)) => Json(hints.clone()).into_response(),
        Ok(Err(_)) | Err(_) => StatusCode::NOT_MODIFIED.into_response(),
    }
}

async fn logs(
    State(central): State<Central>,
    Path((_, id)): Path<(String, String)>,
    Json(answer): Json<LogAnswer>,
) -> StatusCode {
    central.0.logs.send_replace(Some((id, answer)));
    StatusCode::NO_CONTENT
}
