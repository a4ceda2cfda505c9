//! Where the time of one deployment goes: stamps from the logs of the roles,
//! which share this machine's clock, and from the stream of events.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::story::WallTimes;
use crate::table::{Table, time};

/// A line of a role's log.
#[derive(Debug)]
struct Line {
    at: i64,
    message: String,
    fields: String,
}

/// A moment: what is known then, and the line that says so.
struct Stage {
    name: &'static str,
    role: &'static str,
    message: &'static str,
    /// Part of the line's fields.
    field: &'static str,
    /// The last such line counts; otherwise the first.
    last: bool,
}

const fn first(
    name: &'static str,
    role: &'static str,
    message: &'static str,
    field: &'static str,
) -> Stage {
    Stage { name, role, message, field, last: false }
}

const fn last(name: &'static str, role: &'static str, message: &'static str) -> Stage {
    Stage { name, role, message, field: "", last: true }
}

const STAGES: [Stage; 11] = [
    first("hint at LO", "local", "notified of a new commit", ""),
    first("fetched by LO", "local", "fetched", ""),
    first("commit taken by LO", "local", "took a commit", ""),
    first("manifest answered to EN", "node", "received a manifest", ""),
    first("document at EN", "node", "received the documents of the manifest", ""),
    first("preparation begins", "node", "begins", "Prepare"),
    first("prepared", "node", "done", "Prepare"),
    first("started", "node", "done", "Start"),
    first("check passed", "node", "health changed", "Healthy"),
    last("report taken by LO", "node", "the manager took a report"),
    last("stored at CO", "central", "stored events"),
];

pub(crate) fn table(fleet: &Fleet, node: &str, wall: WallTimes) -> anyhow::Result<Table> {
    let title = format!("One deployment on {node}, stage by stage");
    let mut table = Table::new(title, &["stage", "since accepted", "since the stage before"]);
    let role = fleet.nodes.get(node).context("there is no such node")?;
    let central = lines(fleet.central.log(), wall)?;
    let (local, node) = (lines(fleet.local.log(), wall)?, lines(role.log(), wall)?);
    let mut stamps = vec![("request sent", wall.sent), ("accepted", wall.accepted)];
    stamps.push(("committed, recorded", wall.committed));
    for stage in &STAGES {
        let lines = match stage.role {
            "central" => &central,
            "local" => &local,
            _ => &node,
        };
        stamps.extend(stage.find(lines).map(|at| (stage.name, at)));
    }
    stamps.push(("INSTALLED seen by SSE", wall.seen));
    stamps.sort_by_key(|it| it.1);
    let mut before = wall.sent;
    for (name, at) in stamps {
        table.row([name.to_owned(), signed(at - wall.accepted), signed(at - before)]);
        before = at;
    }
    Ok(table.note(
        "The deployment with the median time. The commit's stamp has whole milliseconds. Stages \
         overlap: a stamp says when something was known, not what it waited for.",
    ))
}

impl Stage {
    fn find(&self, lines: &[Line]) -> Option<i64> {
        let fits = |it: &&Line| it.message == self.message && it.fields.contains(self.field);
        let mut found = lines.iter().filter(fits);
        let found = if self.last { found.next_back() } else { found.next() };
        found.map(|it| it.at)
    }
}

/// The lines of a log between the request and its end.
fn lines(log: &Path, wall: WallTimes) -> anyhow::Result<Vec<Line>> {
    let text = std::fs::read_to_string(log)?;
    let read = text.lines().filter_map(line);
    Ok(read.filter(|it| (wall.sent..=wall.seen).contains(&it.at)).collect())
}

fn line(text: &str) -> Option<Line> {
    let value: Value = serde_json::from_str(text).ok()?;
    let at: jiff::Timestamp = value.get("timestamp")?.as_str()?.parse().ok()?;
    let fields = value.get("fields")?;
    let message = fields.get("message")?.as_str()?.to_owned();
    Some(Line { at: at.as_microsecond(), message, fields: fields.to_string() })
}

fn signed(micros: i64) -> String {
    let sign = if micros < 0 { "−" } else { "" };
    format!("{sign}{}", time(Duration::from_micros(micros.unsigned_abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read_from_lines() {
        let text = r#"{"timestamp":"1970-01-01T00:00:01.000250Z","level":"DEBUG","fields":{"message":"done","action":"Start { x }"}}"#;
        let lines = [line(text).expect("it is a line")];
        assert_eq!(lines[0].at, 1_000_250);
        assert!(first("", "", "done", "Start").find(&lines).is_some());
        assert!(first("", "", "done", "Prepare").find(&lines).is_none());
        assert!(line("central https://127.0.0.1:1").is_none());
    }
}
