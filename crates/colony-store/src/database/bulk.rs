//! Many rows in few statements, which makes storing events fast.
//!
//! Statements have either `CHUNK` rows and stay prepared, or fewer and are
//! prepared for one use, so that a connection caches one size only.

use std::fmt::Write;

use crate::database::query::{Query, Value};

/// More rows gain nothing, and SQLite's statement takes memory for each.
const CHUNK: usize = 100;

/// `INSERT INTO t (columns)` … `ON CONFLICT …`, and rows of that many values.
#[derive(Debug)]
pub(crate) struct Bulk {
    pub doing: &'static str,
    pub head: &'static str,
    pub tail: &'static str,
    pub rows: Vec<Vec<Value>>,
}

/// How an engine writes a placeholder. SQLite looks numbered ones up one by
/// one, which is slow for thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Numbered,
}

impl Bulk {
    pub(crate) fn statements(self, style: Style) -> impl Iterator<Item = Query> {
        let Bulk { doing, head, tail, rows } = self;
        let mut rows = rows.into_iter().peekable();
        std::iter::from_fn(move || {
            let width = rows.peek()?.len();
            let chunk: Vec<Vec<Value>> = rows.by_ref().take(CHUNK).collect();
            let text = text(head, tail, (chunk.len(), width), style);
            let kept = chunk.len() == CHUNK;
            Some(Query::built(doing, text, chunk.into_iter().flatten().collect(), kept))
        })
    }
}

fn text(head: &str, tail: &str, (height, width): (usize, usize), style: Style) -> String {
    let mut text = format!("{head} VALUES ");
    for at in 0..height * width {
        text.push_str(match (at, at % width) {
            (0, _) => "(",
            (_, 0) => "), (",
            _ => ", ",
        });
        match style {
            Style::Plain => text.push('?'),
            Style::Numbered => drop(write!(text, "${}", at + 1)),
        }
    }
    text.push_str(") ");
    text.push_str(tail);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_into_statements_of_one_size_and_a_rest() {
        check(1, &[(1, false)]);
        check(100, &[(100, true)]);
        check(230, &[(100, true), (100, true), (30, false)]);
        check(0, &[]);
    }

    #[test]
    fn each_engine_gets_its_placeholders() {
        assert_eq!(text("I", "T", (2, 2), Style::Plain), "I VALUES (?, ?), (?, ?) T");
        assert_eq!(text("I", "T", (2, 2), Style::Numbered), "I VALUES ($1, $2), ($3, $4) T");
    }

    #[track_caller]
    fn check(rows: usize, expected: &[(usize, bool)]) {
        let rows = vec![vec![Value::from(1_i64), Value::from("a")]; rows];
        let bulk = Bulk { doing: "test", head: "INSERT INTO t (a, b)", tail: "", rows };
        let actual: Vec<(usize, bool)> =
            bulk.statements(Style::Plain).map(|it| (it.values.len() / 2, it.kept)).collect();
        assert_eq!(actual, expected);
    }
}
