//! `colony event`, `logs` and `why`

use std::time::Duration;

use colony_api::request::{EventQuery, LogsQuery};
use colony_api::view::LogLine;
use colony_api::{Client, Signal};

use crate::cli::{EventArgs, Logs, Why};
use crate::command::INTERRUPTED;
use crate::command::follow::interrupted;
use crate::output::{Out, event, talk};

/// A node sends its tail on request: how often a follower asks.
const AGAIN: Duration = Duration::from_secs(2);

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
    let (site, node) = args.node.map(|it| (it.site, it.node)).unzip();
    let query = LogsQuery { site, node, previous: args.previous, lines: Some(args.lines) };
    let view = client.deployment_logs(&args.deployment, &query).await?;
    out.show(&view, event::logs)?;
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
    logs_follow(client, &args.deployment, &query, view.lines, out).await
}

async fn logs_follow(
    client: &Client,
    name: &str,
    query: &LogsQuery,
    mut seen: Vec<LogLine>,
    out: &mut Out,
) -> anyhow::Result<u8> {
    let stop = interrupted();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = &mut stop => return Ok(INTERRUPTED),
        }
        let view = client.deployment_logs(name, query).await?;
        if view.problem.is_none() {
            let added = fresh(&seen, &view.lines).to_vec();
            out.data(&event::log_lines(&out.clean(&added)?))?;
            seen = view.lines;
        }
    }
}

/// What of a later tail was not in the earlier one.
fn fresh<'a>(before: &[LogLine], after: &'a [LogLine]) -> &'a [LogLine] {
    let longest = before.len().min(after.len());
    let shared = (1..=longest).rev().find(|it| before[before.len() - it..] == after[..*it]);
    &after[shared.unwrap_or(0)..]
}

pub(super) async fn why(client: &Client, args: Why, out: &mut Out) -> anyhow::Result<u8> {
    let site = args.site.as_deref();
    let view = match (&args.deployment, site) {
        (Some(name), _) => client.deployment_why(name, site).await?,
        (None, Some(site)) => client.site_why(site).await?,
        (None, None) => match client.fleet_why().await {
            Err(error) if error.is_not_found() => {
                anyhow::bail!(
                    "this server does not answer for the fleet; name a deployment or a site"
                )
            }
            answer => answer?,
        },
    };
    out.show(&view, talk::why)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_were_added_are_fresh() {
        check("", "a b", "a b");
        check("a b", "a b", "");
        check("a b", "a b c", "c");
        check("a b c", "b c d e", "d e");
        check("a a", "a a a", "a");
        check("a b", "x y", "x y");
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let lines = |text: &str| -> Vec<LogLine> {
            let line = |it: &str| LogLine { service: "web".into(), text: it.into() };
            text.split_whitespace().map(line).collect()
        };
        assert_eq!(fresh(&lines(before), &lines(after)), lines(expected));
    }
}
