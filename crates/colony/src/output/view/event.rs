//! Events and log lines.

use colony_api::view::{EventPage, EventView, LogLine};

use crate::output::RenderOptions;
use crate::output::words::{precise, stamp};

/// `2026-11-16 00:53:18Z  home/laptop  hello  INSTALLING → INSTALLED`
pub(crate) fn line(event: &EventView, look: &RenderOptions) -> String {
    let place = match (&event.site, &event.node) {
        (Some(site), Some(node)) => format!("{site}/{node}"),
        (Some(site), None) => site.clone(),
        (None, _) => "central".to_owned(),
    };
    let mut parts = vec![stamp(event.at), place];
    parts.extend(event.deployment.clone());
    parts.push(event.sentence.clone());
    if look.wide {
        parts.extend([event.kind.clone(), event.actor.clone(), event.id.clone()]);
    }
    parts.join("  ")
}

pub(crate) fn page(page: &EventPage, look: &RenderOptions) -> String {
    page.events.iter().map(|it| line(it, look) + "\n").collect()
}

/// Prints log lines. Once a second service has printed, each line names its
/// service.
#[derive(Debug)]
pub(crate) struct LogPrinter {
    timestamps: bool,
    only: Option<String>,
    several: bool,
}

impl LogPrinter {
    pub(crate) fn new(timestamps: bool) -> LogPrinter {
        LogPrinter { timestamps, only: None, several: false }
    }

    pub(crate) fn lines(&mut self, lines: &[LogLine]) -> String {
        for line in lines {
            self.several |= *self.only.get_or_insert_with(|| line.service.clone()) != line.service;
        }
        lines.iter().map(|it| self.line(it)).collect()
    }

    fn line(&self, line: &LogLine) -> String {
        let time = line.time.filter(|_| self.timestamps).map(|it| precise(it) + "  ");
        let service = self.several.then(|| format!("{} | ", line.service));
        [time.unwrap_or_default(), service.unwrap_or_default(), line.text.clone() + "\n"].concat()
    }
}

#[cfg(test)]
mod tests {
    use colony_core::time::Timestamp;

    use super::*;

    #[test]
    fn lines_say_whose_they_are_from_the_second_service_on() {
        let mut print = LogPrinter::new(false);
        assert_eq!(print.lines(&[line("web", "a")]), "a\n");
        assert_eq!(print.lines(&[line("web", "b"), line("db", "c")]), "web | b\ndb | c\n");
        assert_eq!(print.lines(&[line("web", "d")]), "web | d\n");
    }

    #[test]
    fn time_stamps_are_printed_when_asked_for() {
        let mut print = LogPrinter::new(true);
        assert_eq!(print.lines(&[line("web", "a")]), "2026-11-16 11:59:20.007Z  a\n");
        let untimed = LogLine { time: None, ..line("web", "b") };
        assert_eq!(print.lines(&[untimed]), "b\n");
    }

    fn line(service: &str, text: &str) -> LogLine {
        let time = Some(Timestamp(1_794_830_360_007));
        LogLine { service: service.to_owned(), time, text: text.to_owned() }
    }
}
