//! Logs as all engines answer them: the query, the lines, and one page of the
//! lines of several services.

pub(crate) mod log_line;

use colony_core::attempt::Failure;
use colony_core::code::Code;

use crate::logs::log_line::{Position, Printed};

/// Most that is shown at once.
const SHOWN_LINES: u32 = 10_000;
pub(crate) const SHOWN_BYTES: usize = 4 << 20;

/// Selects a part of the logs of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// Reads the logs of the previous containers.
    pub previous: bool,
    /// The most lines of each service: the last ones, or with `after` the next.
    pub lines: u32,
    /// Skips older lines, in seconds since 1970.
    pub since: Option<u64>,
    /// Reads this service only.
    pub service: Option<String>,
    /// Reads what follows the position of an earlier page.
    pub after: Option<String>,
}

/// A part of the logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The oldest first.
    pub lines: Vec<LogEntry>,
    /// Where the next page begins.
    pub position: String,
}

/// A line a service printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub service: String,
    /// In milliseconds since 1970.
    pub time: Option<u64>,
    pub text: String,
}

/// The lines of all containers by time, and where they end. A line without a
/// time stays behind the line before it. For a while a service may have two
/// containers, so the position follows the order of the page.
pub(crate) fn page(containers: Vec<(String, Vec<Printed>)>, mut position: Position) -> LogPage {
    let mut all = Vec::new();
    for (service, lines) in containers {
        let mut last = 0;
        for line in lines {
            last = line.time.unwrap_or(last);
            all.push((last, service.clone(), line));
        }
    }
    all.sort_by_key(|it| it.0);
    let entry = |(_, service, line): (u64, String, Printed)| {
        position.advance(&service, &line);
        LogEntry { service, time: line.time.map(|it| it / 1_000_000), text: line.text }
    };
    let lines = all.into_iter().map(entry).collect();
    LogPage { lines, position: position.to_string() }
}

impl LogQuery {
    pub(crate) fn limit(&self) -> u32 {
        self.lines.clamp(1, SHOWN_LINES)
    }

    /// Matches the name or a part of it: `web`, `part` or `part/web`.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let is_part = |service: &str| name.split('/').any(|it| it == service);
        self.service.as_deref().is_none_or(|it| it == name || is_part(it))
    }

    pub(crate) fn check_service(&self, names: &[String]) -> Result<(), Failure> {
        let Some(service) = &self.service else { return Ok(()) };
        if names.iter().any(|it| self.wants(it)) {
            return Ok(());
        }
        let known = match names {
            [] => "no service has a log".to_owned(),
            names => format!("there is {}", names.join(", ")),
        };
        Err(Failure::new(Code::InvalidConfig, format!("there is no service `{service}`; {known}")))
    }

    pub(crate) fn is_recent(&self, line: &Printed) -> bool {
        let second = line.time.map(|it| it / 1_000_000_000);
        second.zip(self.since).is_none_or(|(at, since)| at >= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_services_come_in_the_order_of_their_times() {
        let line = |second: Option<u64>, text: &str| Printed {
            time: second.map(|it| it * 1_000_000_000),
            text: text.to_owned(),
        };
        let db = vec![line(Some(1), "a"), line(None, "b"), line(Some(4), "e")];
        let web = vec![line(Some(2), "c"), line(Some(3), "d")];
        let services = vec![("db".to_owned(), db), ("web".to_owned(), web)];
        let LogPage { lines, position } = page(services, Position::default());
        let texts: Vec<&str> = lines.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d", "e"]);
        assert_eq!((lines[2].service.as_str(), lines[2].time), ("web", Some(2_000)));
        assert_eq!(position, "db=4000000000+1,web=3000000000+1");
    }

    #[test]
    fn a_service_that_is_not_there_is_refused_with_those_that_are() {
        let query = |it: &str| LogQuery { service: Some(it.to_owned()), ..LogQuery::default() };
        let names = ["part/db".to_owned(), "part/web".to_owned()];
        assert!(query("db").check_service(&names).is_ok());
        assert!(query("part/web").check_service(&names).is_ok());
        let refused = query("x").check_service(&names).expect_err("there is none");
        assert_eq!(refused.message, "there is no service `x`; there is part/db, part/web");
    }
}
