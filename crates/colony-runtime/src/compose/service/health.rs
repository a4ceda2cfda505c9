//! Health checks.

use std::time::Duration;

use colony_core::margo::yaml::{Cursor, Value};

use crate::compose::keys::{self, KeySection};
use crate::compose::project::Healthcheck;
use crate::compose::syntax::value::{self, take};

const TEST: &str = "a text, or a list that begins with `CMD`, `CMD-SHELL` or `NONE`";

pub(super) fn read(cursor: &Cursor<'_>) -> Option<Healthcheck> {
    keys::check(cursor, KeySection::Healthcheck);
    let disabled = take(cursor, "disable", value::flag).unwrap_or_default();
    let given = cursor.field("test");
    let test = given.as_ref().and_then(test);
    let check = Healthcheck::Check {
        test: test.clone().unwrap_or_default(),
        interval: span(cursor, "interval", 30),
        timeout: span(cursor, "timeout", 30),
        start_period: take(cursor, "start_period", |it| it.duration()).unwrap_or_default(),
        start_interval: span(cursor, "start_interval", 5),
        retries: take(cursor, "retries", retries).unwrap_or(3),
    };
    if disabled || test.as_ref().is_some_and(|it| it[..] == ["NONE"]) {
        return Some(Healthcheck::Disabled);
    }
    if given.is_none() {
        cursor.error("has no `test`", "`test`, or `disable: true`");
    }
    test.map(|_| check)
}

fn test(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    if let Value::Scalar { .. } = &cursor.node().value {
        return Some(vec!["CMD-SHELL".to_owned(), value::text(cursor)?]);
    }
    let words = cursor.each(|it| it.string())?;
    let right = match words.first().map(String::as_str) {
        Some("NONE") => words.len() == 1,
        Some("CMD") => words.len() > 1,
        Some("CMD-SHELL") => words.len() == 2,
        Some(_) | None => false,
    };
    if right { Some(words) } else { cursor.mismatch(TEST) }
}

/// A duration above zero.
fn span(cursor: &Cursor<'_>, key: &str, seconds: u64) -> Duration {
    let given = take(cursor, key, |it| {
        let given = it.duration()?;
        if given.is_zero() { it.mismatch("a duration above zero") } else { Some(given) }
    });
    given.unwrap_or(Duration::from_secs(seconds))
}

fn retries(cursor: &Cursor<'_>) -> Option<u32> {
    let number = cursor.string()?.parse().ok().filter(|it| (1..=1_000).contains(it));
    number.or_else(|| cursor.mismatch("a number from 1 to 1000"))
}
