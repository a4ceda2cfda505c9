//! Splits a line into words as a shell does, without being one.
//!
//! Quotes and backslashes have their meaning in a shell. Operators such as `;`
//! and `|` are refused, because no shell runs here and every interpretation of
//! them could surprise.

/// The words of a line, or what is wrong with it and what would be right.
pub(super) fn split(line: &str) -> Result<Vec<String>, (String, &'static str)> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => single(&mut rest, word.get_or_insert_default())?,
            '"' => double(&mut rest, word.get_or_insert_default())?,
            '\\' => {
                let escaped = rest.next().ok_or(("ends with a backslash".to_owned(), QUOTED))?;
                word.get_or_insert_default().push(escaped);
            }
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' => {
                return Err((
                    format!("has `{next}` outside of quotes, and no shell runs it"),
                    SHELL,
                ));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

const QUOTED: &str = "quotes that are closed, or a list of words";
const SHELL: &str = "quotes around it, or a list such as `[sh, -c, \"…\"]`";

fn single(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), (String, &'static str)> {
    for next in rest {
        match next {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
    Err(("has a quote that is not closed".to_owned(), QUOTED))
}

fn double(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), (String, &'static str)> {
    while let Some(next) = rest.next() {
        match next {
            '"' => return Ok(()),
            '\\' => match rest.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(("has a quote that is not closed".to_owned(), QUOTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        check("", &[]);
        check("  serve   --port 80 ", &["serve", "--port", "80"]);
        check("a 'b c' \"d e\"", &["a", "b c", "d e"]);
        check("--name='x y'z", &["--name=x yz"]);
        check("'' \"\"", &["", ""]);
        check(r#""a\"b\\c\d" e\ f 'g\h'"#, &[r#"a"b\c\d"#, "e f", r"g\h"]);
        check("sh -c 'a; b | c'", &["sh", "-c", "a; b | c"]);
        check("echo #x $HOME", &["echo", "#x", "$HOME"]);
    }

    #[test]
    fn what_needs_a_shell_is_refused() {
        for line in ["a; b", "a & b", "a|b", "a > b", "$(a)", "`a`", "'a", "\"a", "\"a\\", "a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        assert_eq!(split(line).expect("the line has words"), expected, "{line}");
    }
}
