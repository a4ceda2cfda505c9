//! Starts the role, and runs it until it is stopped.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use colony_core::event::CentralEvent;
use colony_git::Deployments;
use colony_git::serve::Server;
use colony_process::{Access, RoleFolder, Signal, Tasks};
use colony_store::{CentralStore, Claim, OperatorToken, Write};
use colony_wfm::{ClientAuth, Peer, Reloader, TlsListener, file, tls};
use tokio_util::sync::CancellationToken;

use crate::app::{App, Shared};
use crate::brain::{Brain, own_event};
use crate::catalog::Registries;
use crate::command::force::PendingForcedDeletions;
use crate::command::relay::Relay;
use crate::config::Config;
use crate::health::metrics::Metrics;
use crate::identity::Identity;
use crate::link::authority::Authorities;
use crate::link::{join, nodes};
use crate::writer::Writer;
use crate::{api, auth, catalog, clock, place};

/// How often a hosted branch is checked in addition to wake-ups.
const HOSTED_PERIOD: Duration = Duration::from_secs(60);
/// How often the certificate is checked: it may have become invalid because the
/// clock was set since it was made.
const KEEP_PERIOD: Duration = Duration::from_secs(30);
/// The repository is tidied up once in so many of these periods.
const TIDY: u64 = 120;
/// How long the previous process has to release the database.
const CLAIM: Duration = Duration::from_secs(5);
/// How long open requests get to end.
const GRACE: Duration = Duration::from_secs(5);

/// A role that is open and ready to be run.
#[derive(Debug)]
pub struct Central {
    app: App,
    listener: TlsListener,
    addr: SocketAddr,
    period: Duration,
    held: ProcessLocks,
}

/// Held by one process at a time: its folder and its database.
#[derive(Debug)]
struct ProcessLocks {
    _claim: Claim,
    _folder: RoleFolder,
}

/// Opens the data directory, the database, Git and the port.
pub async fn start(config: Config) -> anyhow::Result<Central> {
    colony_wfm::open_files_raise();
    place::check_git(&config)?;
    let folder = RoleFolder::open(&config.data, Access::Owner).await?;
    let now = clock::unix(clock::wall());
    let identity = Identity::open(&config.data, place::hosts(&config), now)?;
    let opened = CentralStore::open_claimed(&config.database_url(), CLAIM).await;
    let (store, claim) = opened.context("could not open the database")?;
    admin_token(&config.data, &store).await?;
    catalog::add_builtin(&store, clock::wall()).await.context("could not fill the catalog")?;
    let server = tls::server_config(&identity.server(now)?, ClientAuth::Optional)?;
    let listener = TlsListener::bind(config.listen, server).await;
    let listener = listener.with_context(|| format!("could not listen on {}", config.listen))?;
    let addr = listener.local_addr();
    let urls = place::urls(&config, addr);
    let period = config.git.as_ref().map_or(HOSTED_PERIOD, |it| it.poll);
    let brain = Brain::open(store.clone()).await.context("could not read the database")?;
    let (brain, repo) = (Arc::new(brain), place::open_repo(&config).await?);
    let registries =
        Registries::new(brain.clone(), repo.clone(), config.data.clone(), config.fetch);
    let app = App::new(Shared {
        brain,
        hosted: repo.hosted().map(Server::new),
        repo,
        registries: Arc::new(registries),
        writing: Arc::default(),
        identity,
        keys: join::restore(&store).await?,
        authorities: Authorities::restore(&store).await?,
        metrics: Arc::new(Metrics::new()),
        relay: Relay::default(),
        reports: nodes::restore(&store).await?,
        forces: PendingForcedDeletions::restore(&store).await?,
        writer: Signal::default(),
        git: place::git_access(&config, &urls),
        urls,
        data: config.data,
        stop: CancellationToken::new(),
        planning: tokio::sync::Mutex::default(),
    });
    let held = ProcessLocks { _claim: claim, _folder: folder };
    Ok(Central { app, listener, addr, period, held })
}

impl Central {
    /// The URL that is shown to people.
    pub fn url(&self) -> String {
        self.app.url().to_owned()
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The token of the first operator.
    pub fn admin_token_path(&self) -> PathBuf {
        token_path(&self.app.data)
    }

    /// The root certificate by which clients trust this role.
    pub fn ca_path(&self) -> PathBuf {
        self.app.identity.ca_path()
    }

    #[cfg(test)]
    pub(crate) fn app(&self) -> App {
        self.app.clone()
    }

    /// Serves until `stop`; every task has ended when this returns.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Central { app, listener, period, held, .. } = self;
        let mut tasks = Tasks::new(stop);
        let ended = tasks.stop();
        let reloader = listener.reloader();
        tasks.spawn("the API", serve(app.clone(), listener, ended.clone()));
        tasks.spawn("the Git writer", write(app.clone(), period, ended.clone()));
        tasks.spawn("the catalog", app.registries.clone().run(ended.clone()));
        tasks.spawn("the database writer", watch(app.clone(), ended.clone()));
        tasks.spawn("the claim on the database", fenced(app.clone(), ended.clone()));
        tasks.spawn("signs of life", listen(app.clone(), ended.clone()));
        tasks.spawn("housekeeping", keep(app.clone(), reloader, ended));
        let answer = tasks.join().await;
        app.brain.close().await;
        // No part of this process writes from here on.
        drop(held);
        answer
    }
}

/// Ends the role when another process has claimed the database: the state in
/// memory no longer is the stored one.
async fn fenced(app: App, stop: CancellationToken) -> anyhow::Result<()> {
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        () = app.brain.store().fenced() => Err(colony_store::Error::Fenced.into()),
    }
}

async fn serve(app: App, listener: TlsListener, stop: CancellationToken) -> anyhow::Result<()> {
    let router = api::router(app.clone());
    let ending = async {
        stop.cancelled().await;
        // Ends streams and long polls, so that the shutdown does not wait for
        // them.
        app.stop.cancel();
    };
    colony_wfm::serve(listener, router, Peer::of, ending, GRACE).await;
    Ok(())
}

async fn write(app: App, period: Duration, stop: CancellationToken) -> anyhow::Result<()> {
    let writer = Writer {
        brain: app.brain.clone(),
        repo: app.repo.clone(),
        metrics: app.metrics.clone(),
        period,
        checked_head: None,
        writing: app.writing.clone(),
    };
    colony_process::run(writer, app.writer.clone(), stop).await;
    Ok(())
}

async fn watch(app: App, stop: CancellationToken) -> anyhow::Result<()> {
    app.brain.writer_watch(stop).await
}

async fn listen(app: App, stop: CancellationToken) -> anyhow::Result<()> {
    app.brain.heard_keep(stop).await;
    Ok(())
}

/// Periodically renews the certificate if it is no longer valid, and tidies the
/// repository up.
async fn keep(app: App, port: Reloader, stop: CancellationToken) -> anyhow::Result<()> {
    let mut served = String::new();
    for turn in 1.. {
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(KEEP_PERIOD) => {}
        }
        if let Err(error) = renew(&app, &port, &mut served) {
            tracing::warn!("could not renew the certificate: {error:#}");
        }
        if turn % TIDY == 0
            && let Err(error) = app.repo.call("tidy up", Deployments::maintain).await
        {
            tracing::warn!("could not tidy the repository up: {error}");
        }
    }
    Ok(())
}

fn renew(app: &App, port: &Reloader, served: &mut String) -> anyhow::Result<()> {
    let server = app.identity.server(clock::unix(clock::wall()))?;
    if server.chain_pem != *served {
        port.set(tls::server_config(&server, ClientAuth::Optional)?);
        *served = server.chain_pem;
    }
    Ok(())
}

/// Makes the token of the first operator at the first start.
async fn admin_token(data: &Path, store: &CentralStore) -> anyhow::Result<()> {
    let path = token_path(data);
    let known = store.token_list().await?.iter().any(|it| it.name == auth::ADMIN);
    if known && file::read(&path)?.is_some() {
        return Ok(());
    }
    let (token, hash) = auth::make()?;
    let admin = OperatorToken {
        name: auth::ADMIN.to_owned(),
        hash,
        role: auth::Role::Admin.to_string(),
        sites: Vec::new(),
        created: clock::wall(),
        expires: None,
    };
    let made = CentralEvent::TokenMade { name: admin.name.clone(), role: admin.role.clone() };
    let event = own_event(&made, "colony", admin.created, (None, None));
    let before = if known { vec![admin.name.clone()] } else { Vec::new() };
    let write = Write {
        tokens_remove: before,
        tokens_add: vec![admin],
        events: vec![event],
        ..Write::default()
    };
    store.commit(write).await.context("could not keep the first token")?;
    colony_process::fail::hit(colony_process::fail::Point::CentralAdminStored);
    Ok(file::write_secret(&path, &format!("{token}\n"))?)
}

fn token_path(data: &Path) -> PathBuf {
    data.join("admin.token")
}
