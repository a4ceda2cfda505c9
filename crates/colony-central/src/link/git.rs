//! The hosted repository over Git's smart HTTP.
//!
//! A site reads it with its certificate, an operator with a token for all
//! sites; writing needs the role operator. A push wakes the sites as central's
//! own commits do.

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use colony_core::event::CentralEvent;
use colony_git::serve::{self, BODY_LIMIT, Server, Service};
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use crate::api::extract::WholeBody;
use crate::app::App;
use crate::auth::{Local, Operator, Role};
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;
use colony_store::Write;

pub(crate) fn routes() -> Router<App> {
    let limit = DefaultBodyLimit::max(BODY_LIMIT);
    Router::new()
        .route("/git/deployments.git/info/refs", get(refs))
        .route("/git/deployments.git/git-upload-pack", post(fetch).layer(limit))
        .route("/git/deployments.git/git-receive-pack", post(push).layer(limit))
}

/// The reader of the repository: a site of this fleet, or an operator with a
/// token for all sites, since the repository shows all of them.
struct Reader(Option<Operator>);

impl FromRequestParts<App> for Reader {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Reader, Fault> {
        if Local::reader(parts, app).await?.is_some() {
            return Ok(Reader(None));
        }
        let operator = Operator::from_request_parts(parts, app).await?;
        operator.must_be_everywhere(Role::Viewer)?;
        Ok(Reader(Some(operator)))
    }
}

impl Reader {
    /// The operator, if it may write.
    fn writer(self) -> Result<Operator, Fault> {
        let operator =
            self.0.ok_or_else(|| Fault::forbidden("a site reads the repository, no more"))?;
        operator.must_be_everywhere(Role::Operator)?;
        Ok(operator)
    }
}

#[derive(Debug, Deserialize)]
struct RefsQuery {
    service: Option<String>,
}

async fn refs(
    State(app): State<App>,
    reader: Reader,
    Query(query): Query<RefsQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let service = query.service.as_deref().and_then(Service::named);
    let service = service.ok_or_else(|| Fault::forbidden("Git's dumb protocol is not served"))?;
    if service == Service::ReceivePack {
        reader.writer()?;
    }
    let body = hosted(&app)?.advertise(service, protocol(&headers)).await?;
    Ok(answer(service.advertisement_type(), Body::from(body)))
}

async fn fetch(
    State(app): State<App>,
    _reader: Reader,
    headers: HeaderMap,
    WholeBody(body): WholeBody,
) -> Result<Response, Fault> {
    let service = Service::UploadPack;
    let body = unpacked(&headers, body)?;
    let reply = hosted(&app)?.exchange(service, protocol(&headers), body).await?;
    Ok(answer(service.result_type(), Body::from_stream(ReaderStream::new(reply))))
}

async fn push(
    State(app): State<App>,
    reader: Reader,
    headers: HeaderMap,
    WholeBody(body): WholeBody,
) -> Result<Response, Fault> {
    let operator = reader.writer()?;
    let service = Service::ReceivePack;
    let body = unpacked(&headers, body)?;
    let before = app.repo.head().borrow().clone();
    let mut reply = hosted(&app)?.exchange(service, protocol(&headers), body).await?;
    // The response of a push is short, and the branch has only moved at its
    // end.
    let mut bytes = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut reply, &mut bytes).await;
    read.map_err(|it| anyhow::Error::new(it).context("could not read git's answer"))?;
    let head = app.repo.refresh().await?;
    if head != before {
        let event = CentralEvent::Pushed { from: before, commit: head };
        record(&app, &operator.name, &event).await?;
        app.writer.wake();
    }
    Ok(answer(service.result_type(), Body::from(bytes)))
}

async fn record(app: &App, actor: &str, event: &CentralEvent) -> Result<(), Fault> {
    let event = own_event(event, actor, clock::wall(), (None, None));
    app.brain.write(|_| Ok(((), Write { events: vec![event], ..Write::default() }))).await
}

fn hosted(app: &App) -> Result<&Server, Fault> {
    let missing = || {
        let url = &app.git.url;
        Fault::not_found(format!("the deployments repository is not hosted here but at {url}"))
    };
    app.hosted.as_ref().ok_or_else(missing)
}

fn protocol(headers: &HeaderMap) -> Option<&str> {
    headers.get("git-protocol").and_then(|it| it.to_str().ok())
}

fn unpacked(headers: &HeaderMap, body: Bytes) -> Result<Bytes, Fault> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|it| it.as_bytes());
    match encoding {
        None | Some(b"identity") => Ok(body),
        Some(b"gzip" | b"x-gzip") => serve::gunzip(&body, BODY_LIMIT)
            .map_err(|it| Fault::invalid(format!("the body cannot be unpacked: {it}"))),
        Some(_) => Err(Fault::invalid("only gzip is understood as content encoding")),
    }
}

fn answer(kind: &'static str, body: Body) -> Response {
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}
