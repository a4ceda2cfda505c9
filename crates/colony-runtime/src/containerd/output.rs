//! The log file of a pod, as CRI writes it, and its rotation.
//!
//! A line is a time stamp, the stream, `F` or `P` for a whole line or a part of
//! one, and the text. The node rotates the file: the engine only opens it again.

use std::io::{self, SeekFrom};
use std::path::Path;

use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, BufReader};

use crate::containerd::folder::OUTPUT;
use crate::containers::api::{OutputRange, Take};
use crate::logs::log_line::nanos;

/// The size from which on a file is rotated; one predecessor is kept.
const ROTATED: u64 = 10 << 20;
const PREDECESSOR: &str = "output.log.1";
/// The end of the files in which the last lines are looked for.
const TAIL: u64 = 1 << 20;
/// The longest line that is read; engines split longer ones.
const LINE: u64 = 64 << 10;

/// Passes the output of the pod with this folder to `take`.
pub(super) async fn read(folder: &Path, range: OutputRange, take: Take<'_>) -> io::Result<()> {
    let current = size(&folder.join(OUTPUT)).await?;
    let before = size(&folder.join(PREDECESSOR)).await?;
    let wanted = if range.tail.is_some() { TAIL } else { u64::MAX };
    let from_before = wanted.saturating_sub(current).min(before);
    let mut lines = Lines { since: range.since, part: Vec::new(), take };
    let old = (PREDECESSOR, before - from_before);
    let new = (OUTPUT, current.saturating_sub(wanted));
    for (name, start) in [old, new] {
        if !lines.read(&folder.join(name), start).await? {
            break;
        }
    }
    Ok(())
}

/// Renames a file that has grown too large; whether it has.
pub(super) async fn rotate(folder: &Path) -> io::Result<bool> {
    let path = folder.join(OUTPUT);
    if size(&path).await? < ROTATED {
        return Ok(false);
    }
    tokio::fs::rename(&path, folder.join(PREDECESSOR)).await?;
    Ok(true)
}

async fn size(path: &Path) -> io::Result<u64> {
    match tokio::fs::metadata(path).await {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Puts the parts of lines together.
struct Lines<'a> {
    since: Option<u64>,
    part: Vec<u8>,
    take: Take<'a>,
}

impl Lines<'_> {
    /// Returns whether more is wanted.
    async fn read(&mut self, path: &Path, start: u64) -> io::Result<bool> {
        let mut file = match File::open(path).await {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(start)).await?;
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        let mut is_whole = start == 0;
        loop {
            line.clear();
            if (&mut reader).take(LINE).read_until(b'\n', &mut line).await? == 0 {
                return Ok(true);
            }
            // The first piece may be the rest of a line.
            if std::mem::replace(&mut is_whole, true) && !self.pass(&line) {
                return Ok(false);
            }
        }
    }

    fn pass(&mut self, line: &[u8]) -> bool {
        let Some((time, is_part, text)) = split(line) else { return true };
        if self.since.is_some_and(|it| seconds(time).is_some_and(|time| time < it)) {
            return true;
        }
        if self.part.is_empty() {
            self.part.extend_from_slice(time);
            self.part.push(b' ');
        }
        self.part.extend_from_slice(text);
        if is_part && self.part.len() < TAIL as usize {
            return true;
        }
        self.part.push(b'\n');
        let more = (self.take)(&self.part);
        self.part.clear();
        more
    }
}

/// Time stamp, whether it is a part of a line, and the text.
fn split(line: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut parts = line.splitn(4, |it| *it == b' ');
    let (time, _stream, tag) = (parts.next()?, parts.next()?, parts.next()?);
    Some((time, tag.starts_with(b"P"), parts.next().unwrap_or_default()))
}

/// Seconds since 1970 of a time stamp; `None` if it is none.
fn seconds(stamp: &[u8]) -> Option<u64> {
    nanos(std::str::from_utf8(stamp).ok()?).map(|it| it / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "2026-01-01T00:00:00.1Z stdout F old\n";
    const NEW: &str = "2026-01-01T00:00:05.2Z stderr P ne\n2026-01-01T00:00:05.3Z stderr F w\n\
                       2026-01-01T00:00:06Z stdout F \n";
    /// 2026-01-01T00:00:05Z.
    const FIVE: u64 = 1_767_225_605;

    #[tokio::test]
    async fn lines_are_put_together_from_both_files() {
        let old = "2026-01-01T00:00:00.1Z old\n";
        let new = "2026-01-01T00:00:05.2Z new\n2026-01-01T00:00:06Z \n";
        check(None, None, 9, &format!("{old}{new}")).await;
        check(Some(2), None, 9, &format!("{old}{new}")).await;
        check(None, Some(FIVE), 9, new).await;
        check(None, None, 1, old).await;
    }

    #[tokio::test]
    async fn a_file_is_rotated_when_it_is_large() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!rotate(dir.path()).await.unwrap());
        std::fs::write(dir.path().join(OUTPUT), NEW).unwrap();
        assert!(!rotate(dir.path()).await.unwrap());
        let file = std::fs::File::create(dir.path().join(OUTPUT)).unwrap();
        file.set_len(ROTATED).unwrap();
        assert!(rotate(dir.path()).await.unwrap());
        assert!(dir.path().join(PREDECESSOR).exists() && !dir.path().join(OUTPUT).exists());
    }

    async fn check(tail: Option<u32>, since: Option<u64>, most: usize, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PREDECESSOR), OLD).unwrap();
        std::fs::write(dir.path().join(OUTPUT), NEW).unwrap();
        let (mut text, mut lines) = (String::new(), 0);
        let mut take = |part: &[u8]| {
            text.push_str(&String::from_utf8_lossy(part));
            lines += 1;
            lines < most
        };
        read(dir.path(), OutputRange { tail, since }, &mut take).await.unwrap();
        assert_eq!(text, expected, "{tail:?} {since:?} {most}");
    }
}
