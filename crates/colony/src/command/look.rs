//! `colony event`, `logs` and `why`

use std::time::Duration;

use colony_api::request::{EventQuery, LogsQuery};
use colony_api::{Client, Signal};

use crate::cli::{EventArgs, Logs, Why};
use crate::command::INTERRUPTED;
use crate::command::follow::interrupted;
use crate::output::Out;
use crate::output::view::event::{self, LogPrinter};
use crate::output::view::talk;

/// How often a follower requests log lines: nodes only send them on request.
const AGAIN: Duration = Duration::from_secs(2);
/// The most lines of each service in one request of a follower.
const PAGE: u32 = 2_000;
/// After so many lines the follower requests more without a pause.
const BUSY: usize = 500;

pub(super) async fn events(client: &Client, args: EventArgs, out: &mut Out) -> anyhow::Result<u8> {
    let (site, node) = match args.node {
        Some(at) => (Some(at.site), Some(at.node)),
        None => (args.site, None),
    };
    let (app, deployment, kind) = (args.app, args.deployment, args.kind);
    let query = EventQuery { site, app, deployment, node, kind, ..EventQuery::default() };
    let page = client.event_list(&EventQuery { last: Some(args.last), ..query.clone() }).await?;
    if !args.follow {
        out.show(&page, event::page)?;
        return Ok(0);
    }
    for it in &page.events {
        out.show_next(it, event::line)?;
    }
    follow(client, query, page.cursor(), out).await
}

async fn follow(
    client: &Client,
    query: EventQuery,
    after: String,
    out: &mut Out,
) -> anyhow::Result<u8> {
    let mut events = client.event_follow(query, Some(after)).await?;
    let stop = interrupted();
    tokio::pin!(stop);
    loop {
        let signal = tokio::select! {
            signal = events.next() => signal?,
            () = &mut stop => return Ok(INTERRUPTED),
        };
        match signal {
            Signal::Event(it) => out.show_next(it.as_ref(), event::line)?,
            Signal::Reset => {
                out.note("the server's store is another one; what follows is its log")?
            }
            Signal::Lost(why) => out.note(&format!("connection lost ({why}); trying again"))?,
            Signal::Resumed => out.note("connected again; nothing was missed")?,
        }
    }
}

pub(super) async fn logs(client: &Client, args: Logs, out: &mut Out) -> anyhow::Result<u8> {
    out.set_raw(args.raw);
    let query = logs_query(&args);
    let mut print = LogPrinter::new(args.timestamps);
    let view = client.deployment_logs(&args.deployment, &query).await?;
    out.show(&view, |it, _| print.lines(&it.lines))?;
    if let Some(problem) = &view.problem {
        out.note(problem)?;
    } else if view.lines.is_empty() {
        out.note(&format!("{}/{} has printed nothing", view.site, view.node))?;
    }
    if view.truncated {
        out.note("older lines are left out; ask for fewer at once or look on the node")?;
    }
    if !args.follow {
        return Ok(if view.problem.is_some() { 1 } else { 0 });
    }
    let after = view.position.or(view.problem.is_some().then(String::new));
    let Some(after) = after else {
        anyhow::bail!("{}/{} cannot be followed: its colony is too old", view.site, view.node);
    };
    let query = LogsQuery { after: Some(after), lines: Some(PAGE), ..query };
    logs_follow(client, &args.deployment, query, print, out).await
}

fn logs_query(args: &Logs) -> LogsQuery {
    let (site, node) = args.node.clone().map(|it| (it.site, it.node)).unzip();
    LogsQuery {
        site,
        node,
        previous: args.previous,
        lines: Some(args.lines),
        since_seconds: args.since,
        service: args.service.clone(),
        after: None,
    }
}

/// Each response carries the position where the next one begins, so that no
/// line is lost or repeated, however many there are between two requests.
async fn logs_follow(
    client: &Client,
    name: &str,
    mut query: LogsQuery,
    mut print: LogPrinter,
    out: &mut Out,
) -> anyhow::Result<u8> {
    let stop = interrupted();
    tokio::pin!(stop);
    let mut pause = AGAIN;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut stop => return Ok(INTERRUPTED),
        }
        let view = client.deployment_logs(name, &query).await?;
        if view.problem.is_none() {
            out.data(&print.lines(&out.clean(&view.lines)?))?;
            query.after = view.position.or(query.after);
        }
        // A follower that is behind requests the next lines at once.
        pause = if view.lines.len() < BUSY { AGAIN } else { Duration::ZERO };
    }
}

pub(super) async fn why(client: &Client, args: Why, out: &mut Out) -> anyhow::Result<u8> {
    let site = args.site.as_deref();
    let view = match (&args.deployment, &args.node, site) {
        (Some(name), _, _) => client.deployment_why(name, site).await?,
        (None, Some(it), _) => client.node_why(&it.site, &it.node).await?,
        (None, None, Some(site)) => client.site_why(site).await?,
        (None, None, None) => client.fleet_why().await?,
    };
    out.show(&view, talk::why)?;
    Ok(0)
}
