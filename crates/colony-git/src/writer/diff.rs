//! The diff of a conflict: from the present to the wanted content.

use std::fmt::Write;

use gix::Repository;
use gix::diff::blob::unified_diff::{ConsumeHunk, ContextSize, DiffLineKind, HunkHeader};
use gix::diff::blob::{Algorithm, Diff, InternedInput, UnifiedDiff};

use crate::error::Error;
use crate::repo::{self, Entry};

const LIMIT: usize = 16 * 1024;
const CUT: &str = "… (cut)\n";

/// A unified diff of at most 16 KiB.
pub(super) fn between(
    repo: &Repository,
    path: &str,
    found: Option<Entry>,
    wanted: Option<&str>,
) -> Result<String, Error> {
    let old = match found {
        None => Ok(String::new()),
        Some(it) if it.mode.is_tree() => Err("a folder".to_owned()),
        Some(it) => text_of(repo, it)?,
    };
    let from = if found.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let to = if wanted.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() };
    let body = match old {
        Ok(old) => unified_diff(&old, wanted.unwrap_or_default()),
        Err(what) => format!("there is {what}\n"),
    };
    Ok(cut(format!("--- {from}\n+++ {to}\n{body}")))
}

fn text_of(repo: &Repository, entry: Entry) -> Result<Result<String, String>, Error> {
    if !entry.mode.is_blob() {
        return Ok(Err("no regular file".to_owned()));
    }
    Ok(match repo::blob_read(repo, entry.id)? {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| "a file that is not UTF-8".to_owned()),
        Err(size) => Err(format!("a file of {size} bytes")),
    })
}

/// The changes between two texts, as a unified diff without a header.
pub fn unified_diff(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printed = UnifiedDiff::new(&diff, &input, Printer::default(), ContextSize::default());
    // The printer writes to memory and never fails.
    printed.consume().unwrap_or_default()
}

/// Prints hunks as `diff -u` does.
#[derive(Default)]
struct Printer(String);

impl ConsumeHunk for Printer {
    type Out = String;

    fn consume_hunk(
        &mut self,
        at: HunkHeader,
        lines: &[(DiffLineKind, &[u8])],
    ) -> std::io::Result<()> {
        let before = format!("{},{}", at.before_hunk_start, at.before_hunk_len);
        let after = format!("{},{}", at.after_hunk_start, at.after_hunk_len);
        writeln!(self.0, "@@ -{before} +{after} @@").map_err(std::io::Error::other)?;
        lines.iter().for_each(|(kind, line)| self.line(*kind, line));
        Ok(())
    }

    fn finish(self) -> String {
        self.0
    }
}

impl Printer {
    fn line(&mut self, kind: DiffLineKind, line: &[u8]) {
        self.0.push(match kind {
            DiffLineKind::Context => ' ',
            DiffLineKind::Add => '+',
            DiffLineKind::Remove => '-',
        });
        self.0.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            self.0.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Whole lines only, as far as they fit.
fn cut(text: String) -> String {
    if text.len() <= LIMIT {
        return text;
    }
    let room = LIMIT - CUT.len();
    let end = text.as_bytes()[..room].iter().rposition(|&it| it == b'\n').map_or(0, |it| it + 1);
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_their_surroundings() {
        let text = unified_diff("a: 1\nb: 2\nc: 3\n", "a: 1\nb: 4\nc: 3\n");
        assert_eq!(text, "@@ -1,3 +1,3 @@\n a: 1\n-b: 2\n+b: 4\n c: 3\n");
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line() {
        let long: String = (0..5000).map(|it| format!("line é {it}\n")).collect();
        let text = cut(unified_diff("", &long));
        assert!(text.len() <= LIMIT && text.ends_with(CUT), "{}", text.len());
        assert_eq!(cut("x".repeat(20_000)), CUT);
    }
}
