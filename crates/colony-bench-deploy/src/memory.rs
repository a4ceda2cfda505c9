//! What idle roles weigh, and how large the programs are.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::fleet::{Fleet, Role};
use crate::table::{Table, size};

/// The nodes of the site when its orchestrator is weighed.
const NODES: usize = 20;
/// Nothing is asked of the fleet for so long before it is weighed.
const IDLE: Duration = Duration::from_secs(15);

/// Adds nodes until there are twenty; all of them real, on one engine.
pub(crate) async fn measure(fleet: &mut Fleet, socket: &Path) -> anyhow::Result<Table> {
    let mut table = Table::new("Idle memory", &["role", "PSS", "of it anonymous", "RSS"]);
    let first = fleet.nodes.len();
    tokio::time::sleep(IDLE).await;
    let node = fleet.nodes.values_mut().next().context("there is no node")?;
    weigh(&mut table, "EN", node)?;
    weigh(&mut table, &format!("LO, {first} nodes"), &mut fleet.local)?;
    weigh(&mut table, &format!("CO, 1 site, {first} nodes"), &mut fleet.central)?;
    for number in first..NODES {
        fleet.node_add(&format!("more-{number}"), socket).await?;
    }
    fleet.online().await?;
    tokio::time::sleep(IDLE).await;
    weigh(&mut table, &format!("LO, {NODES} nodes"), &mut fleet.local)?;
    weigh(&mut table, &format!("CO, 1 site, {NODES} nodes"), &mut fleet.central)?;
    let idle = IDLE.as_secs();
    Ok(table.note(format!(
        "From `/proc/<pid>/smaps_rollup` after {idle} s without a request, after all \
         deployments above were deleted. PSS counts a page that several processes have mapped by \
         its share; every role runs a copy of the program of its own, so that it shares none of \
         its pages, as on a machine of its own. The nodes are real processes on one engine, \
         polling over mTLS."
    )))
}

fn weigh(table: &mut Table, name: &str, role: &mut Role) -> anyhow::Result<()> {
    let weight = role.process()?.weight()?;
    table.row([name.to_owned(), size(weight.pss), size(weight.anonymous), size(weight.rss)]);
    Ok(())
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
