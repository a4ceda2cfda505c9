//! Problem types of colony, in addition to those that Margo registers.
//!
//! A type is a URI that is compared and never fetched.

use serde::{Deserialize, Serialize};

use colony_core::margo::Problem;

const BASE: &str = "https://colony.dev/problems/";

/// The kinds of problems that a client treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The resource does not exist; the detail lists those that do.
    NotFound,
    /// The request is valid but cannot be executed in this state.
    Refused,
    /// The plan changed since its hash was shown.
    PlanChanged,
    /// A later LO of this site has joined.
    Fenced,
    /// The events of this LO differ from the stored ones.
    Diverged,
    /// A join token was used before.
    TokenUsed,
    /// The site's orchestrator was in contact recently; joining needs `replace`.
    SiteAlive,
}

impl Kind {
    const ALL: [(Kind, &'static str, &'static str, u16); 7] = [
        (Kind::NotFound, "not-found", "Not found", 404),
        (Kind::Refused, "refused", "Refused", 409),
        (Kind::PlanChanged, "plan-changed", "The plan has changed", 412),
        (Kind::Fenced, "fenced", "Replaced by a later orchestrator", 409),
        (Kind::Diverged, "diverged", "The logs have diverged", 409),
        (Kind::TokenUsed, "token-used", "The invitation was already used", 409),
        (Kind::SiteAlive, "site-alive", "The site has a living orchestrator", 409),
    ];

    fn row(self) -> (&'static str, &'static str, u16) {
        let row = Kind::ALL.iter().find(|it| it.0 == self);
        row.map_or(("", "", 500), |it| (it.1, it.2, it.3))
    }

    pub fn uri(self) -> String {
        format!("{BASE}{}", self.row().0)
    }

    /// A problem of this kind, with a sentence for people.
    pub fn problem(self, detail: impl Into<String>) -> Problem {
        let (_, title, status) = self.row();
        let blank = Problem::about_blank(status).detail(detail);
        Problem { kind: self.uri(), title: title.to_owned(), ..blank }
    }

    pub fn of(problem: &Problem) -> Option<Kind> {
        let name = problem.kind.strip_prefix(BASE)?;
        Kind::ALL.iter().find(|it| it.1 == name).map(|it| it.0)
    }
}

/// The response to an LO that was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fenced {
    #[serde(flatten)]
    pub problem: Problem,
    /// The current incarnation of the site.
    pub current: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_problem() {
        for (kind, name, ..) in Kind::ALL {
            assert_eq!(Kind::of(&kind.problem("because")), Some(kind), "{name}");
        }
        assert_eq!(Kind::of(&Problem::about_blank(404)), None);
    }

    #[test]
    fn a_fenced_orchestrator_reads_who_replaced_it() {
        let sent = Fenced { problem: Kind::Fenced.problem("incarnation 1 is over"), current: 2 };
        let text = serde_json::to_string(&sent).unwrap();
        assert_eq!(serde_json::from_str::<Fenced>(&text).unwrap(), sent);
    }
}
