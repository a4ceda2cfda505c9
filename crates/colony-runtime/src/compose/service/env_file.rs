//! The format of environment files.
//!
//! `NAME=value` on each line, with comments and `export`. A value in single
//! quotes is taken as it is; one in double quotes has escapes and variables;
//! both may go over several lines. An unquoted one ends at the line's end or
//! before ` #` and has variables. Variables are parameters first, then names
//! that stand further up in the same file.

use std::collections::BTreeMap;

use colony_core::margo::{Finding, Findings, Parsed, Severity};

use crate::compose::syntax::interpolate::{Flaw, Variables};

/// How many findings of one file are shown.
const SHOWN: usize = 20;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Usual,
    /// Values are taken as they are.
    Raw,
}

/// The variables of a file. A name without a value takes that of the parameter,
/// or is not set.
pub(super) fn parse(
    text: &str,
    format: Format,
    variables: &Variables<'_>,
) -> Result<Parsed<BTreeMap<String, String>>, Vec<Finding>> {
    let (found, findings) = (BTreeMap::new(), Findings::new());
    let mut reader =
        Reader { variables, format, text, rest: text, start: 0, found, findings, shown: 0 };
    while !reader.rest.is_empty() && reader.shown < SHOWN {
        if let Err(flaw) = reader.entry() {
            reader.push(Severity::Error, flaw);
            reader.until_newline();
        }
    }
    let Reader { found, findings, .. } = reader;
    findings.finish(Some(found))
}

struct Reader<'v, 't> {
    variables: &'v Variables<'v>,
    format: Format,
    text: &'t str,
    rest: &'t str,
    /// Where the entry that is being read begins.
    start: usize,
    found: BTreeMap<String, String>,
    findings: Findings,
    shown: usize,
}

impl<'t> Reader<'_, 't> {
    fn entry(&mut self) -> Result<(), Flaw> {
        self.rest = self.rest.trim_start();
        self.start = self.text.len() - self.rest.len();
        if self.rest.is_empty() || self.rest.starts_with('#') {
            self.until_newline();
            return Ok(());
        }
        if let Some(rest) = self.rest.strip_prefix("export ") {
            self.rest = rest.trim_start_matches([' ', '\t']);
        }
        let name = self.name()?;
        let Some(rest) = self.rest.strip_prefix('=') else { return self.bare(name) };
        self.rest = rest;
        let value = match self.format {
            Format::Raw => self.until_newline().to_owned(),
            Format::Usual => self.value()?,
        };
        self.found.insert(name, value);
        Ok(())
    }

    fn name(&mut self) -> Result<String, Flaw> {
        let part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        let after = self.rest[end..].trim_start_matches([' ', '\t']);
        let ended = after.is_empty() || after.starts_with(['=', '\n', '\r', '#']);
        if name.is_empty() || !ended {
            return Err(flaw("line has no usable name", "`NAME=value`"));
        }
        self.rest = after;
        Ok(name.to_owned())
    }

    fn bare(&mut self, name: String) -> Result<(), Flaw> {
        self.until_newline();
        if let Some(value) = self.variables.get(&name) {
            self.found.insert(name, value.to_owned());
        }
        Ok(())
    }

    fn value(&mut self) -> Result<String, Flaw> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        if let Some(rest) = self.rest.strip_prefix('\'') {
            let end = rest.find('\'').ok_or_else(|| unclosed('\''))?;
            self.rest = &rest[end + 1..];
            return self.ended().map(|()| rest[..end].to_owned());
        }
        if let Some(rest) = self.rest.strip_prefix('"') {
            let (text, rest) = double_quoted(rest).ok_or_else(|| unclosed('"'))?;
            self.rest = rest;
            self.ended()?;
            return self.expand(&text);
        }
        let line = self.until_newline();
        let comment = line.find(" #").or(line.find("\t#")).or(line.starts_with('#').then_some(0));
        let text = comment.map_or(line, |end| &line[..end]);
        self.expand(text.trim())
    }

    /// Nothing but a comment may follow a closing quote.
    fn ended(&mut self) -> Result<(), Flaw> {
        let after = self.until_newline().trim_start();
        match after.is_empty() || after.starts_with('#') {
            true => Ok(()),
            false => Err(flaw("something follows the closing quote", "the end of the line")),
        }
    }

    fn expand(&mut self, text: &str) -> Result<String, Flaw> {
        let expanded = self.variables.expand_with(text, &self.found);
        for name in self.variables.take_unset().into_iter().filter(|_| expanded.is_ok()) {
            let flaw = Flaw {
                problem: format!("parameter `{name}` is not set and becomes an empty text"),
                expected: "a value for it, or a default",
            };
            self.push(Severity::Warning, flaw);
        }
        expanded
    }

    /// Consumes and returns the rest of the line.
    fn until_newline(&mut self) -> &'t str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line.strip_suffix('\r').unwrap_or(line)
    }

    fn push(&mut self, severity: Severity, flaw: Flaw) {
        self.shown += 1;
        let line = u32::try_from(self.text[..self.start].lines().count() + 1);
        let (problem, expected) = (flaw.problem, flaw.expected.to_owned());
        self.findings.push(Finding {
            file: None,
            line: line.unwrap_or(u32::MAX),
            column: 1,
            path: String::new(),
            severity,
            problem,
            expected,
        });
    }
}

/// The text up to the closing quote, and what follows. A `$` that was escaped
/// is doubled, so that it names no variable.
fn double_quoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text.char_indices();
    while let Some((at, next)) = rest.next() {
        match next {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => match rest.next()?.1 {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                '$' => out.push_str("$$"),
                c @ ('"' | '\\') => out.push(c),
                c => out.extend(['\\', c]),
            },
            c => out.push(c),
        }
    }
    None
}

fn unclosed(quote: char) -> Flaw {
    Flaw { problem: format!("`{quote}` is not closed"), expected: "a closing quote" }
}

fn flaw(problem: &str, expected: &'static str) -> Flaw {
    Flaw { problem: problem.to_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_commented_and_replaced() {
        check("A=1\n# no\n\nexport B = two words # yes\nC=\nD=x#y\r\n", "A=1|B=two words|C=|D=x#y");
        check("A='$P \\n # x' # y\nB=\"a\\nb\\\"$P\\$P\"", "A=$P \\n # x|B=a\nb\"v$P");
        check("A='a\nb'\nB=\"c\nd\"", "A=a\nb|B=c\nd");
        check("A=1\nB=${A}${P}${Q:-q}\nP=own\nC=$P", "A=1|B=1vq|C=v|P=own");
        check("P\nQ\nA #x", "P=v");
        check("A=#x\nB=$$x", "A=|B=$x");
    }

    #[test]
    fn what_cannot_be_read_is_named_by_line() {
        refused(
            "A=1\nB C=2\nC='x' y\n",
            "2:1 line has no usable name|3:1 something follows the closing quote",
        );
        refused("=1\n", "1:1 line has no usable name");
        refused("A=1\nB='x\ny\n", "2:1 `'` is not closed");
        refused("A=${B\n", "1:1 `${` is not closed, or has an operator that is not known");
    }

    #[test]
    fn raw_values_are_taken_as_they_are() {
        let parameters = BTreeMap::new();
        let read = parse("A=\"$x # y\" \n", Format::Raw, &Variables::new(&parameters));
        assert_eq!(read.expect("a raw file is read").value["A"], "\"$x # y\" ");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = read(text).expect("the file is read");
        let pairs: Vec<String> =
            found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(pairs.join("|"), expected);
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let found = read(text).expect_err("the file is refused");
        let lines: Vec<String> =
            found.iter().map(|it| format!("{}:{} {}", it.line, it.column, it.problem)).collect();
        assert_eq!(lines.join("|"), expected);
    }

    fn read(text: &str) -> Result<BTreeMap<String, String>, Vec<Finding>> {
        let parameters = BTreeMap::from([("P".to_owned(), "v".to_owned())]);
        parse(text, Format::Usual, &Variables::new(&parameters)).map(|it| it.value)
    }
}
