//! Variables in texts: `$NAME`, `${NAME}`, `${NAME:-default}` and similar
//! forms.
//!
//! Values come from the parameters only, never from the machine's environment.
//! A variable that is not set becomes an empty text, as in Compose, and is
//! returned by `take_unset`. The size of the result is bounded, because one
//! parameter can be used many times.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// How deep defaults may hold variables that have defaults.
const DEPTH: usize = 16;

/// The most bytes of all expanded texts of a file together.
const BUDGET: usize = 4 << 20;

/// The values of variables, with a record of their use.
#[derive(Debug)]
pub(crate) struct Variables<'a> {
    parameters: &'a BTreeMap<String, String>,
    budget: Cell<usize>,
    unset: RefCell<BTreeSet<String>>,
}

/// Why a text cannot be expanded, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) problem: String,
    pub(crate) expected: &'static str,
}

impl<'a> Variables<'a> {
    pub(crate) fn new(parameters: &'a BTreeMap<String, String>) -> Variables<'a> {
        let (budget, unset) = (Cell::new(BUDGET), RefCell::default());
        Variables { parameters, budget, unset }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The text with its variables replaced.
    pub(crate) fn expand(&self, text: &str) -> Result<String, Flaw> {
        self.expand_with(text, &BTreeMap::new())
    }

    /// Like `expand`; names that are not parameters are looked up in `more`.
    pub(crate) fn expand_with(
        &self,
        text: &str,
        more: &BTreeMap<String, String>,
    ) -> Result<String, Flaw> {
        if !text.contains('$') {
            return Ok(text.to_owned());
        }
        let mut reader = Reader { variables: self, more, rest: text };
        reader.text(false, true, 0)
    }

    /// The variables that had no value since the last call.
    pub(crate) fn take_unset(&self) -> BTreeSet<String> {
        self.unset.take()
    }

    fn spend(&self, bytes: usize) -> Result<(), Flaw> {
        let left = self.budget.get().checked_sub(bytes);
        self.budget.set(left.unwrap_or(0));
        left.map(drop).ok_or_else(|| Flaw {
            problem: "variables make the file too large".to_owned(),
            expected: "at most 4 MiB of text",
        })
    }
}

struct Reader<'v, 't> {
    variables: &'v Variables<'v>,
    more: &'v BTreeMap<String, String>,
    rest: &'t str,
}

impl<'v> Reader<'v, '_> {
    /// Reads to the end, or to the `}` that closes a default. A text that is
    /// not `live` is only skipped.
    fn text(&mut self, inside: bool, live: bool, depth: usize) -> Result<String, Flaw> {
        let mut out = String::new();
        while let Some(next) = self.rest.chars().next() {
            match next {
                '}' if inside => return Ok(out),
                '$' => out.push_str(&self.dollar(live, depth)?),
                _ => out.push_str(self.plain(inside)),
            }
        }
        match inside {
            true => Err(unclosed()),
            false => Ok(out),
        }
    }

    fn plain(&mut self, inside: bool) -> &str {
        let ends = |c: char| c == '$' || (inside && c == '}');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (plain, rest) = self.rest.split_at(end);
        self.rest = rest;
        plain
    }

    fn dollar(&mut self, live: bool, depth: usize) -> Result<String, Flaw> {
        self.rest = &self.rest[1..];
        if let Some(rest) = self.rest.strip_prefix('$') {
            self.rest = rest;
            return Ok("$".to_owned());
        }
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            return self.braced(live, depth);
        }
        let name = self.name().ok_or_else(|| Flaw {
            problem: "`$` is followed by no name of a variable".to_owned(),
            expected: "`${NAME}`, or `$$` for a dollar sign",
        })?;
        self.value(&name, live)
    }

    fn braced(&mut self, live: bool, depth: usize) -> Result<String, Flaw> {
        if depth == DEPTH {
            let problem = "variables are nested too deep".to_owned();
            return Err(Flaw { problem, expected: "at most 16 levels" });
        }
        let name = self.name().ok_or_else(|| Flaw {
            problem: "`${` is followed by no name of a variable".to_owned(),
            expected: "`${NAME}`, or `$$` for a dollar sign",
        })?;
        let value = self.operation(&name, live, depth)?;
        self.rest = self.rest.strip_prefix('}').ok_or_else(unclosed)?;
        Ok(value)
    }

    /// What follows a name in braces. With a colon, an empty value counts as none.
    fn operation(&mut self, name: &str, live: bool, depth: usize) -> Result<String, Flaw> {
        let colon = self.rest.starts_with(':');
        let value = self.lookup(name).filter(|it| !(colon && it.is_empty()));
        let after = self.rest.strip_prefix(':').unwrap_or(self.rest);
        let Some(operator) = after.chars().next().filter(|it| "-?+".contains(*it)) else {
            return self.value(name, live);
        };
        self.rest = &after[1..];
        match (operator, value) {
            ('-', None) => self.text(true, live, depth + 1),
            ('+', Some(_)) => self.text(true, live, depth + 1),
            ('?', None) => self.missing(name, live, depth),
            ('-' | '?', Some(value)) => {
                self.text(true, false, depth + 1)?;
                self.spent(value, live)
            }
            (_, _) => self.text(true, false, depth + 1).map(|_| String::new()),
        }
    }

    fn missing(&mut self, name: &str, live: bool, depth: usize) -> Result<String, Flaw> {
        let message = self.text(true, live, depth + 1)?;
        if !live {
            return Ok(String::new());
        }
        let problem = match message.trim() {
            "" => format!("parameter `{name}` is required"),
            message => format!("parameter `{name}` is required: {message}"),
        };
        Err(Flaw { problem, expected: "a value for it in the deployment" })
    }

    fn value(&self, name: &str, live: bool) -> Result<String, Flaw> {
        match self.lookup(name) {
            Some(value) => self.spent(value, live),
            None => {
                if live {
                    self.variables.unset.borrow_mut().insert(name.to_owned());
                }
                Ok(String::new())
            }
        }
    }

    fn spent(&self, value: &str, live: bool) -> Result<String, Flaw> {
        if !live {
            return Ok(String::new());
        }
        self.variables.spend(value.len())?;
        Ok(value.to_owned())
    }

    fn lookup(&self, name: &str) -> Option<&'v str> {
        let parameter = self.variables.get(name);
        parameter.or_else(|| self.more.get(name).map(String::as_str))
    }

    fn name(&mut self) -> Option<String> {
        let part = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let valid = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        self.rest = rest;
        valid.then(|| name.to_owned())
    }
}

fn unclosed() -> Flaw {
    Flaw {
        problem: "`${` is not closed, or has an operator that is not known".to_owned(),
        expected: "`${NAME}`, `${NAME:-default}`, `${NAME:?message}` or `${NAME:+other}`",
    }
}
