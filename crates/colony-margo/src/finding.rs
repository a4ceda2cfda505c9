//! Findings: the problems of a document, with position and expectation.
//!
//! A bad document is not an internal error. The reader collects all problems
//! and returns them to the author of the document.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How many findings of one document are shown.
const SHOWN: usize = 100;

/// Whether the document can be used in spite of the finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
}

/// One problem of a document. Line and column count from 1, and are 0 if the
/// position is unknown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Finding {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    /// Such as `spec.deploymentProfile.components[0].name`; empty for the whole
    /// document.
    pub path: String,
    pub severity: Severity,
    pub problem: String,
    pub expected: String,
}

impl Finding {
    /// The same finding with the name of its file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Finding {
        self.file = Some(file.to_owned());
        self
    }
}

impl Finding {
    /// The path and the problem, without the position in the file.
    pub fn subject_and_problem(&self) -> String {
        match self.path.as_str() {
            "" => self.problem.clone(),
            path => format!("{path}: {}", self.problem),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", one_line(file))?;
        }
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        if self.file.is_some() || self.line > 0 {
            f.write_str(" ")?;
        }
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", one_line(&self.path))?;
        }
        f.write_str(&one_line(&self.problem))?;
        match self.expected.as_str() {
            "" => Ok(()),
            expected => write!(f, "; expected {}", one_line(expected)),
        }
    }
}

/// The text with control characters escaped: the content of a document must not
/// write lines of its own into a log or a terminal.
fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// A value with the warnings found while reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<T> {
    pub value: T,
    pub warnings: Vec<Finding>,
}

/// Collects findings. Shared by reference, so that every cursor over a
/// document can add to it.
#[derive(Debug, Default)]
pub struct Findings {
    found: RefCell<Vec<Finding>>,
}

impl Findings {
    /// An empty collection.
    pub fn new() -> Findings {
        Findings::default()
    }

    /// Adds a finding.
    pub fn push(&self, finding: Finding) {
        self.found.borrow_mut().push(finding);
    }

    /// Adds many findings.
    pub fn extend(&self, findings: impl IntoIterator<Item = Finding>) {
        self.found.borrow_mut().extend(findings);
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|it| it.severity == Severity::Error)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The findings by position, each once. When there are too many, the last
    /// one contains the number of those left out.
    pub fn into_vec(self) -> Vec<Finding> {
        let mut found = self.found.into_inner();
        found.sort();
        found.dedup();
        if found.len() > SHOWN {
            let rest = found.split_off(SHOWN - 1);
            found.extend(summary(&rest));
        }
        found
    }

    /// The value with its warnings, or all findings when one is an error.
    pub fn finish<T>(self, value: Option<T>) -> Result<Parsed<T>, Vec<Finding>> {
        let failed = self.has_errors();
        let found = self.into_vec();
        match value {
            Some(value) if !failed => Ok(Parsed { value, warnings: found }),
            _ => Err(found),
        }
    }
}

/// A finding that replaces those left out: an error if one of them is.
fn summary(rest: &[Finding]) -> Option<Finding> {
    let severity = rest.iter().map(|it| it.severity).min()?;
    let last = rest.last()?;
    Some(Finding {
        file: last.file.clone(),
        line: last.line,
        column: last.column,
        path: String::new(),
        severity,
        problem: format!("{} more findings are not shown", rest.len()),
        expected: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_prints_on_one_line_with_what_is_known() {
        let full = finding(3, Severity::Error).in_file("a.yaml");
        assert_eq!(full.to_string(), "a.yaml:3:1: id: is missing; expected a text");
        assert_eq!(finding(0, Severity::Error).to_string(), "id: is missing; expected a text");
        let warning = finding(3, Severity::Warning);
        assert_eq!(warning.to_string(), "3:1: warning: id: is missing; expected a text");
    }

    #[test]
    fn what_a_document_says_stays_on_the_line() {
        let problem = "key `a\n\u{1b}[31m` is not known".to_owned();
        let finding = Finding { problem, ..finding(3, Severity::Error) };
        let printed = r"3:1: id: key `a\n\u{1b}[31m` is not known; expected a text";
        assert_eq!(finding.to_string(), printed);
    }

    #[test]
    fn findings_come_by_position_and_once() {
        let findings = Findings::new();
        findings.extend([9, 2, 9].map(|line| finding(line, Severity::Warning)));
        assert!(!findings.has_errors());
        let lines: Vec<u32> = findings.into_vec().iter().map(|it| it.line).collect();
        assert_eq!(lines, [2, 9]);
    }

    #[test]
    fn too_many_findings_end_in_a_count() {
        let findings = Findings::new();
        findings.extend((1..=250).map(|line| finding(line, Severity::Error)));
        let shown = findings.into_vec();
        assert_eq!(shown.len(), 100);
        assert_eq!(shown[99].problem, "151 more findings are not shown");
    }

    fn finding(line: u32, severity: Severity) -> Finding {
        let (problem, expected) = ("is missing".to_owned(), "a text".to_owned());
        Finding { file: None, line, column: 1, path: "id".into(), severity, problem, expected }
    }
}
