//! What idle roles weigh, and how large the programs are.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::fleet::maps::Part;
use crate::fleet::pretend::Crowd;
use crate::fleet::{Fleet, Role};
use crate::measurement::deploy::VERSION;
use crate::story::Story;
use crate::table::{Table, size};

/// The nodes and the deployments of the site when its orchestrator is weighed.
const NODES: usize = 20;
const DEPLOYMENTS: usize = 100;
/// Nothing is asked of the fleet for so long before it is weighed.
const IDLE: Duration = Duration::from_secs(75);
/// By then the site has closed the connections that read its database, and
/// those that nodes report on: they are silent for ten minutes.
const LONG: Duration = Duration::from_secs(660);

/// What was weighed: the table, and where the memory of each is.
struct Scale {
    table: Table,
    parts: Vec<(String, Vec<(Part, u64)>)>,
}

/// Adds nodes until there are twenty, all of them real, on one engine; then
/// a hundred deployments on pretended ones.
pub(crate) async fn measure(fleet: &mut Fleet, place: &str) -> anyhow::Result<Vec<Table>> {
    let table = Table::new("Idle memory", &["role", "PSS", "of it anonymous", "RSS"]);
    let mut scale = Scale { table, parts: Vec::new() };
    let first = fleet.nodes.len();
    tokio::time::sleep(IDLE).await;
    let node = fleet.nodes.values_mut().next().context("there is no node")?;
    scale.weigh("EN", node)?;
    scale.orchestrators(fleet, &format!("{first} nodes"))?;
    for number in first..NODES {
        fleet.node_add(&format!("more-{number}"), place).await?;
    }
    fleet.online().await?;
    tokio::time::sleep(IDLE).await;
    scale.orchestrators(fleet, &format!("{NODES} nodes"))?;
    let mut crowd = pretend(fleet).await?;
    deploy(fleet, &mut crowd).await?;
    tokio::time::sleep(IDLE).await;
    crowd.check()?;
    let full = format!("{NODES} nodes, {DEPLOYMENTS} deployments");
    scale.orchestrators(fleet, &full)?;
    tokio::time::sleep(LONG).await;
    crowd.check()?;
    scale.weigh(&format!("LO, {full}, after a longer while"), &mut fleet.local)?;
    Ok(scale.tables())
}

/// The real nodes end, and pretended ones go on under their names.
async fn pretend(fleet: &mut Fleet) -> anyhow::Result<Crowd> {
    let mut crowd = Crowd::default();
    let names: Vec<String> = fleet.nodes.keys().cloned().collect();
    for name in names {
        fleet.nodes.get_mut(&name).context("there is no such node")?.stop().await?;
        crowd.add(&fleet.identity(&name))?;
    }
    Ok(crowd)
}

/// One deployment after the other, each a commit of its own for one node.
async fn deploy(fleet: &Fleet, crowd: &mut Crowd) -> anyhow::Result<()> {
    let mut story = Story::follow(&fleet.client).await?;
    let names: Vec<&String> = fleet.nodes.keys().collect();
    for number in 0..DEPLOYMENTS {
        let node = names[number % names.len()];
        story.deploy(&format!("idle-{number}"), VERSION, node).await?;
        crowd.check()?;
    }
    Ok(())
}

impl Scale {
    fn orchestrators(&mut self, fleet: &mut Fleet, has: &str) -> anyhow::Result<()> {
        self.weigh(&format!("LO, {has}"), &mut fleet.local)?;
        self.weigh(&format!("CO, 1 site, {has}"), &mut fleet.central)
    }

    fn weigh(&mut self, name: &str, role: &mut Role) -> anyhow::Result<()> {
        let process = role.process()?;
        process.check()?;
        let weight = process.weight()?;
        let cells = [weight.pss, weight.anonymous, weight.rss].map(size);
        self.table.row([name.to_owned()].into_iter().chain(cells));
        self.parts.push((name.to_owned(), process.parts()?));
        Ok(())
    }

    fn tables(self) -> Vec<Table> {
        let (idle, long) = (IDLE.as_secs(), (IDLE + LONG).as_secs() / 60);
        let table = self.table.note(format!(
            "From `/proc/<pid>/smaps_rollup` after {idle} s without a request of people. PSS \
             counts a page that several processes have mapped by its share; every role runs a \
             copy of the program of its own, so that it shares none of its pages, as on a machine \
             of its own. The nodes are real processes on one engine, polling over mTLS. For the \
             {DEPLOYMENTS} deployments they are ended and the bench goes on in their names, with \
             their certificates over mTLS: it fetches each document and reports it installed. \
             Each deployment is a commit of its own at CO and goes to one node. The longer while \
             is {long} min: a site closes connections after ten silent minutes, and nodes that \
             have nothing to report need only one of two."
        ));
        vec![table, parts(&self.parts)]
    }
}

/// The first node and the fullest site, by what the memory is for.
fn parts(weighed: &[(String, Vec<(Part, u64)>)]) -> Table {
    let local = weighed.iter().rfind(|it| it.0.starts_with("LO"));
    let shown: Vec<_> = weighed.first().into_iter().chain(local).collect();
    let columns = std::iter::once("where").chain(shown.iter().map(|it| it.0.as_str()));
    let mut table = Table::new("Where it is", &columns.collect::<Vec<_>>());
    for (index, part) in Part::ALL.iter().enumerate() {
        let sizes = shown.iter().map(|it| size(it.1[index].1));
        table.row(std::iter::once(part.name().to_owned()).chain(sizes));
    }
    table.note("The PSS of the mappings in `/proc/<pid>/smaps`, by what they are for.")
}

pub(crate) fn programs(fleet: &Fleet) -> anyhow::Result<Table> {
    let mut table = Table::new("Programs", &["program", "size"]);
    let length = |path: &Path| Ok::<_, std::io::Error>(size(std::fs::metadata(path)?.len()));
    table.row(["colony".to_owned(), length(&fleet.setup.colony)?]);
    if fleet.setup.local != fleet.setup.colony {
        table.row(["colony, site, static".to_owned(), length(&fleet.setup.local)?]);
    }
    if fleet.setup.node == fleet.setup.colony {
        return Ok(table.note("The nodes ran the whole program: there was no node-only build."));
    }
    table.row(["colony, node only, static".to_owned(), length(&fleet.setup.node)?]);
    Ok(table)
}
