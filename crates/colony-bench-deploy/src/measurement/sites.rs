//! What sites cost the central orchestrator: `make bench-fleet`.
//!
//! One process of the central orchestrator and one of each site, without
//! nodes: they join, poll, fetch and report over mTLS as any site does. What
//! is counted is the processor time and the memory of the central process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use colony_api::request::{DeployRequest, EventQuery, SiteAdd};
use colony_api::{Client, EventStream, Signal};

use crate::clock;
use crate::fleet::process::{Process, Weight};
use crate::fleet::{Setup, client, contexts, free_port, wait};
use crate::measurement::deploy::VERSION;
use crate::table::{Table, ratio, size, time};

/// How many sites are started before the next ones.
const TOGETHER: usize = 20;
/// How long everything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// Until whatever follows a change is over.
const TRAIL: Duration = Duration::from_secs(3);
/// How long nothing is asked of the fleet.
const IDLE: Duration = Duration::from_secs(60);
/// How often the request of the baseline is sent.
const REQUESTS: u32 = 300;

/// What one fleet cost.
struct Measured {
    sites: usize,
    /// One request of an operator.
    request: Duration,
    /// A minute without changes.
    idle: Duration,
    /// One change for one site.
    one: Duration,
    /// One commit for all sites, for each of them.
    all: Duration,
    fresh: Weight,
    used: Weight,
}

pub(crate) async fn measure(
    setup: &Setup,
    counts: &[usize],
    repeats: usize,
) -> anyhow::Result<Vec<Table>> {
    let mut measured = Vec::new();
    for count in counts {
        let mut fleet = SiteFleet::start(setup, *count).await?;
        measured.push(fleet.measure(repeats).await?);
        fleet.stop().await?;
    }
    Ok(tables(&measured, repeats))
}

/// The central orchestrator and its sites.
struct SiteFleet {
    central: Process,
    sites: Vec<Process>,
    client: Client,
    stream: EventStream,
}

impl SiteFleet {
    async fn start(setup: &Setup, count: usize) -> anyhow::Result<SiteFleet> {
        let dir = setup.dir.join(format!("fleet-{count}"));
        std::fs::create_dir_all(&dir)?;
        let port = free_port()?;
        let listen = format!("127.0.0.1:{port}");
        // The sites share the pages of their program with each other, not with it.
        let program = dir.join("central.program");
        std::fs::copy(&setup.colony, &program)
            .with_context(|| format!("could not copy {}", setup.colony.display()))?;
        let central = start(&program, &dir, "central", &["central", "--listen", &listen])?;
        let client = client(&dir, port).await?;
        wait("the central orchestrator", async || Ok(client.status().await.is_ok())).await?;
        let mut sites = Vec::new();
        while sites.len() < count {
            for number in sites.len()..count.min(sites.len() + TOGETHER) {
                sites.push(site_start(setup, &dir, &client, number).await?);
            }
            all_ready(&client, &mut sites).await?;
        }
        let stream = client.event_follow(EventQuery::default(), None).await;
        let stream = stream.context("could not follow the events")?;
        Ok(SiteFleet { central, sites, client, stream })
    }

    async fn measure(&mut self, repeats: usize) -> anyhow::Result<Measured> {
        let count = self.sites.len();
        tokio::time::sleep(TRAIL).await;
        let fresh = self.central.weight()?;
        let request = self.requests().await?;
        let idle = self.idle().await?;
        let all = self.changes("all", repeats.div_ceil(4), |_| (0..count).collect()).await?;
        let one = self.changes("one", repeats, |it| vec![it * 7 % count]).await?;
        for site in &mut self.sites {
            site.check()?;
        }
        let used = self.central.weight()?;
        let net = |it: Net| it.cpu.saturating_sub(idle.mul_f64(it.wall / IDLE.as_secs_f64()));
        let all = net(all) / u32::try_from(count)?;
        Ok(Measured { sites: count, request, idle, one: net(one), all, fresh, used })
    }

    /// The baseline: what the same process needs to answer an operator.
    async fn requests(&self) -> anyhow::Result<Duration> {
        let before = self.central.cpu()?;
        for _ in 0..REQUESTS {
            self.client.site_show(&name(0)).await?;
        }
        Ok((self.central.cpu()? - before) / REQUESTS)
    }

    async fn idle(&self) -> anyhow::Result<Duration> {
        let before = self.central.cpu()?;
        tokio::time::sleep(IDLE).await;
        Ok(self.central.cpu()? - before)
    }

    /// Deploys to the sites that `whose` names, again and again; what one cost.
    async fn changes(
        &mut self,
        what: &str,
        repeats: usize,
        whose: impl Fn(usize) -> Vec<usize>,
    ) -> anyhow::Result<Net> {
        let mut net = Net::default();
        for repeat in 0..repeats {
            let (begun, before) = (clock::now(), self.central.cpu()?);
            let sites: BTreeSet<String> = whose(repeat).into_iter().map(name).collect();
            self.deploy(&format!("{what}-{repeat}"), sites).await?;
            tokio::time::sleep(TRAIL).await;
            net.cpu += self.central.cpu()? - before;
            net.wall += (clock::now() - begun).as_secs_f64();
        }
        let times = u32::try_from(repeats)?;
        Ok(Net { cpu: net.cpu / times, wall: net.wall / f64::from(times) })
    }

    /// Deploys, and waits until every site has reported that it took it.
    async fn deploy(
        &mut self,
        deployment: &str,
        mut sites: BTreeSet<String>,
    ) -> anyhow::Result<()> {
        let request = DeployRequest {
            application: "hello".to_owned(),
            version: Some(VERSION.to_owned()),
            name: Some(deployment.to_owned()),
            sites: sites.iter().cloned().collect(),
            ..DeployRequest::default()
        };
        let answer = self.client.deploy(&request).await.context("could not deploy")?;
        anyhow::ensure!(answer.accepted, "there was nothing to deploy");
        let taken = async {
            while !sites.is_empty() {
                let Signal::Event(event) = self.stream.next().await? else { continue };
                if event.kind == "deployment_accepted"
                    && event.deployment.as_deref() == Some(deployment)
                {
                    sites.remove(event.site.as_deref().unwrap_or_default());
                }
            }
            anyhow::Ok(())
        };
        match tokio::time::timeout(PATIENCE, taken).await {
            Ok(taken) => taken,
            Err(_) => bail!("{} sites did not take {deployment}", sites.len()),
        }
    }

    async fn stop(self) -> anyhow::Result<()> {
        for site in self.sites {
            site.stop().await?;
        }
        self.central.stop().await
    }
}

/// Processor time, and the seconds it took.
#[derive(Debug, Clone, Copy, Default)]
struct Net {
    cpu: Duration,
    wall: f64,
}

fn name(number: usize) -> String {
    format!("site-{number}")
}

async fn site_start(
    setup: &Setup,
    dir: &Path,
    client: &Client,
    number: usize,
) -> anyhow::Result<Process> {
    let add = SiteAdd { name: name(number), ..SiteAdd::default() };
    let token = client.site_add(&add).await.context("could not add a site")?.token;
    let listen = format!("127.0.0.1:{}", free_port()?);
    start(&setup.local, dir, &name(number), &["local", "--join", &token, "--listen", &listen])
}

fn start(program: &Path, dir: &Path, role: &str, words: &[&str]) -> anyhow::Result<Process> {
    let data = dir.join(role).display().to_string();
    let words: Vec<&str> = ["--data", &data].into_iter().chain(words.iter().copied()).collect();
    let environment = [("COLONY_CONTEXTS", contexts(dir).display().to_string())];
    let log: PathBuf = dir.join(format!("{role}.log"));
    Process::start(program, &words, &environment, &log)
}

/// Waits until all sites serve; asks seldom, for it is a long list.
async fn all_ready(client: &Client, sites: &mut [Process]) -> anyhow::Result<()> {
    let (begun, count) = (clock::now(), sites.len());
    loop {
        sites.iter_mut().try_for_each(Process::check)?;
        let ready = client.site_list().await?.iter().filter(|it| it.ready).count();
        if ready >= count {
            return Ok(());
        }
        if clock::now() - begun > PATIENCE {
            bail!("{ready} of {count} sites are ready");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn tables(measured: &[Measured], repeats: usize) -> Vec<Table> {
    let title = "Sites without nodes: processor time of the central orchestrator";
    let columns = ["what", "sites", "time", "ratio to baseline", "aim"];
    let mut times = Table::new(title, &columns);
    for it in measured {
        let sites = it.sites.to_string();
        let mut row = |what: &str, spent: Duration, aim: &str| {
            let cells = [what.to_owned(), sites.clone(), time(spent), ratio(spent, it.request)];
            times.row(cells.into_iter().chain([aim.to_owned()]));
        };
        row("baseline: an operator's request of one site", it.request, "");
        row("a minute without changes", it.idle, "");
        row("one change for one site", it.one, "30 ms");
        row("one commit for all sites, each site", it.all, "5 ms");
    }
    let times = times.note(format!(
        "User and system time of the process and of its children from `/proc/<pid>/stat`; of \
         {repeats} changes for one site after the other and of {} commits for all sites, less what \
         a minute without changes costs in that time. A change ends 3 s after every site it is for \
         has reported it.",
        repeats.div_ceil(4)
    ));
    let columns = ["when", "sites", "PSS", "of it anonymous", "RSS", "aim"];
    let mut weights =
        Table::new("Sites without nodes: memory of the central orchestrator", &columns);
    for it in measured {
        for (when, weight) in [("all sites have joined", it.fresh), ("after the changes", it.used)]
        {
            let cells = [weight.pss, weight.anonymous, weight.rss].map(size);
            let row = [when.to_owned(), it.sites.to_string()].into_iter().chain(cells);
            weights.row(row.chain(["60 MB".to_owned()]));
        }
    }
    vec![times, weights]
}
