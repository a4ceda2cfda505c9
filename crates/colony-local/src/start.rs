//! Wiring: from a configuration to running tasks, and their orderly end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use colony_api::site::GitAuth;
use colony_core::id::SiteName;
use colony_git::{Auth, Remote};
use colony_process::{Access, Reconcile, RoleFolder, Signal, Tasks};
use colony_store::LocalStore;
use colony_wfm::{Authority, Peer, TlsListener, login};

use crate::brain::{Brain, SiteConfig, Writer};
use crate::git::{Follow, Source};
use crate::health::Health;
use crate::health::vitals::Vitals;
use crate::home::{Home, Membership};
use crate::logs::Logs;
use crate::margo::{Enrollment, Keys, NodeApi};
use crate::operator;
use crate::orders::Orders;
use crate::server::server_certificate::ServerCertificate;
use crate::server::{self, App, GRACE, address};
use crate::uplink::central::Central;
use crate::uplink::prune::Prune;
use crate::uplink::{About, EventForwarder, Listen, Renew, Report, Seeding};
use crate::{Config, join};

/// A local orchestrator that has joined and listens, ready to be run.
#[derive(Debug)]
pub struct Local {
    site_node: Membership,
    addr: SocketAddr,
    urls: Vec<String>,
    socket: PathBuf,
    parts: Parts,
    /// Locked for this process.
    folder: RoleFolder,
}

/// The components shared by the tasks.
#[derive(Debug)]
struct Parts {
    brain: Brain,
    writer: Writer,
    store: LocalStore,
    keys: Keys,
    health: Health,
    central: Central,
    source: Source,
    own: ServerCertificate,
    home: Home,
    listener: TlsListener,
    operators: UnixListener,
}

/// Joins if necessary, opens the stored state, and listens. Waits for the
/// central orchestrator only if the site has never joined.
pub async fn start(config: Config) -> anyhow::Result<Local> {
    colony_wfm::open_files_raise();
    let folder = RoleFolder::open(&config.data, Access::Group).await?;
    let home = Home::open(&config.data);
    let site_node = join::membership(&home, &config).await?;
    let credentials = home.credentials()?;
    let authority = home.authority(&site_node.site)?;
    let (own, listener) = listen(&config, &site_node, authority).await?;
    let addr = listener.local_addr();
    let urls = address::urls(&config.advertise, addr);
    let operators = operator::bind(&home.socket())?;
    let store = LocalStore::open(&home.database()).await;
    let store = store.context("could not open the site's database")?;
    let keys = Keys::load(&store).await.context("could not read the nodes' identities")?;
    let (site, incarnation) = (site_node.site.clone(), site_node.incarnation);
    let origin = SiteConfig { site, incarnation, timing: config.timing };
    let (brain, writer) = Brain::open(store.clone(), origin).await?;
    let central = Central::new(&site_node, &credentials)?;
    let source = source(&home, &config, &site_node, &central)?;
    let health = Health::default();
    let socket = home.socket();
    let parts = Parts {
        brain,
        writer,
        store,
        keys,
        health,
        central,
        source,
        own,
        home,
        listener,
        operators,
    };
    Ok(Local { site_node, addr, urls, socket, parts, folder })
}

/// Binds the port before it creates the certificate, which may contain the host
/// of the bound address.
async fn listen(
    config: &Config,
    site_node: &Membership,
    authority: Authority,
) -> anyhow::Result<(ServerCertificate, TlsListener)> {
    let urls = address::urls(&config.advertise, config.listen);
    let own =
        ServerCertificate { authority, site: site_node.site.clone(), hosts: address::hosts(&urls) };
    let listener = TlsListener::bind(config.listen, own.tls()?).await;
    let listener = listener.with_context(|| format!("could not listen on {}", config.listen))?;
    Ok((own, listener))
}

fn source(
    home: &Home,
    config: &Config,
    site_node: &Membership,
    central: &Central,
) -> anyhow::Result<Source> {
    let (dir, limits) = (home.clone_dir(), config.fetch);
    if let Some(git) = &config.git {
        check_git(&git.remote)?;
        let (remote, branch) = (git.remote.clone(), git.branch.clone());
        return Ok(Source { dir, remote, branch, tls: None, limits });
    }
    let (auth, tls) = match site_node.git.auth {
        GitAuth::Mtls => {
            let own = central.tls();
            let tls = Arc::clone(&own.borrow());
            (Auth::Mtls { tls }, Some(own))
        }
        GitAuth::None => (Auth::None, None),
        GitAuth::Ssh => (Auth::Ssh, None),
        GitAuth::Token => anyhow::bail!(
            "the deployments repository {} wants a token: set `git.url` and `git.token-file` here",
            site_node.git.url
        ),
    };
    let remote = Remote { url: site_node.git.url.clone(), auth };
    Ok(Source { dir, remote, branch: site_node.git.branch.clone(), tls, limits })
}

/// As in central: a password belongs in a file, not in a setting.
fn check_git(remote: &Remote) -> anyhow::Result<()> {
    if login::password(&remote.url).is_some() {
        anyhow::bail!(
            "`git.url` holds a password; put it into a file that `git.token-file` names, \
             and use {}",
            login::without_login(&remote.url)
        );
    }
    Ok(())
}

impl Local {
    pub fn site(&self) -> &SiteName {
        &self.site_node.site
    }

    /// The address on which it listens for nodes.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URLs advertised to nodes.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The socket of the site's operator API.
    pub fn socket_path(&self) -> &Path {
        &self.socket
    }

    /// Works until `stop`, then ends every task.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Local { site_node, urls, socket, parts, folder, .. } = self;
        let stop = stop.child_token();
        let store = parts.store.clone();
        let ended = parts.spawn(site_node, urls, &stop).join().await;
        store.close().await;
        // A socket without a listener would only be in the way.
        let _ = std::fs::remove_file(socket);
        drop(folder);
        ended
    }
}

impl Parts {
    fn spawn(self, site_node: Membership, urls: Vec<String>, stop: &CancellationToken) -> Tasks {
        let Parts { brain, writer, store, keys, health, central, source, .. } = self;
        let (own, home, listener, operators) = (self.own, self.home, self.listener, self.operators);
        let incarnation = site_node.incarnation;
        let (logs, vitals) = (Logs::default(), Vitals::default());
        let orders = Orders::new(brain.clone(), store.clone());
        let mut tasks = Tasks::new(stop.clone());
        tasks.spawn("the site's writer", writer.run(stop.clone()));

        let seeding =
            Seeding { brain: brain.clone(), health: health.clone(), central: central.clone() };
        spawn(&mut tasks, seeding, Signal::default());
        let (git, site) = (brain.notifiers().git.clone(), site_node.site.clone());
        spawn(&mut tasks, Follow::new(brain.clone(), health.clone(), site, source), git);
        let events = brain.notifiers().events.clone();
        let (b, s, h, c) = (brain.clone(), store.clone(), health.clone(), central.clone());
        let forward = EventForwarder::new(b, s, h, c, vitals.clone(), incarnation);
        spawn(&mut tasks, forward, events);
        let (b, h, c) = (brain.clone(), health.clone(), central.clone());
        let listen = Listen::new(b, h, c, orders.clone(), logs.clone());
        spawn(&mut tasks, listen, Signal::default());
        let (b, h, c) = (brain.clone(), health.clone(), central.clone());
        let versions = Arc::new(operator::FormerVersions::new(home.clone_dir()));
        let renew = Renew { brain: b, health: h, central: c, home };
        spawn(&mut tasks, renew, Signal::default());
        let (about, nodes) = (about(&own, urls), brain.notifiers().nodes.clone());
        let (b, h, v) = (brain.clone(), health.clone(), vitals.clone());
        let report = Report { brain: b, health: h, central, vitals: v, about: about.clone() };
        spawn(&mut tasks, report.paced(), nodes);
        let prune = Prune { store: store.clone(), health: health.clone(), incarnation };
        spawn(&mut tasks, prune, Signal::default());

        let (b, s, a, m) = (brain.clone(), store.clone(), own.authority.clone(), site_node.clone());
        let door = Enrollment::new(b, s, a, m, keys);
        let door = Arc::new(door);
        let (b, l, v) = (brain.clone(), logs.clone(), vitals.clone());
        let gate = Arc::new(NodeApi::new(b, l, v, Arc::clone(&door), stop.clone()));
        tasks.spawn("certificate", own.renew(listener.reloader(), stop.clone()));
        let app = App { brain: brain.clone(), health: health.clone(), door, gate };
        tasks.spawn("the port for nodes", serve(listener, app, stop.clone()));
        let (stop, names) = (stop.clone(), Arc::default());
        let desk = operator::ApiState {
            brain,
            store,
            health,
            logs,
            vitals,
            orders,
            site_node,
            about,
            stop,
            names,
            versions,
        };
        tasks.spawn("the operators' socket", operator::serve(operators, desk));
        tasks
    }
}

fn about(own: &ServerCertificate, urls: Vec<String>) -> About {
    About {
        urls,
        ca: own.authority.fingerprint(),
        ca_pem: own.authority.root_pem().to_owned(),
        domain: own.authority.trust_domain().to_owned(),
    }
}

/// Runs `work` until the stop, which may interrupt a request. The brain
/// completes every input it has received.
fn spawn<W: Reconcile + 'static>(tasks: &mut Tasks, work: W, wake: Signal) {
    let stop = tasks.stop();
    tasks.spawn(W::NAME, async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = colony_process::run(work, wake, stop.clone()) => {}
        }
        Ok(())
    });
}

async fn serve(listener: TlsListener, app: App, stop: CancellationToken) -> anyhow::Result<()> {
    let brain = app.brain.clone();
    let ending = async {
        stop.cancelled().await;
        // Polls are answered at once; other requests get some time.
        brain.notifiers().all_nodes();
    };
    colony_wfm::serve(listener, server::router(app), Peer::of, ending, GRACE).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_process_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("local");
        let _first = RoleFolder::open(&data, Access::Group).await.expect("it is free");
        let second = start(Config::new(data)).await.expect_err("it is in use");
        let process = format!("in use by process {}", std::process::id());
        assert!(second.to_string().contains(&process), "{second}");
    }

    #[test]
    fn a_password_belongs_into_a_file() {
        check_git(&Remote::new("https://ana@h/r.git")).expect("a user is not a secret");
        let refused = check_git(&Remote::new("https://ana:hunter2@h/r.git"));
        let text = refused.expect_err("a password is").to_string();
        assert!(text.contains("git.token-file") && !text.contains("hunter2"), "{text}");
    }
}
