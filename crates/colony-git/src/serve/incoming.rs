//! What is pushed, looked through before git takes it.
//!
//! Git bounds the bytes of a pack, not what they unpack to: a few kilobytes
//! become a file that every site would have to hold in memory. Sizes stand at
//! the head of each object, so nothing large is unpacked to learn of it.

use flate2::{Decompress, FlushDecompress, Status};

use super::line;
use crate::repo::{BLOB_LIMIT, OBJECT_LIMIT};

/// All objects of one push together, unpacked.
const TOTAL_LIMIT: u64 = 1024 * 1024 * 1024;
/// The longest head of a difference: two numbers of ten bytes.
const DELTA_HEAD: usize = 20;
const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
const REFERENCE_DELTA: u8 = 7;

/// Why a push is not taken, if it is not. What cannot be read is git's to judge.
pub(super) fn problem(body: &[u8]) -> Option<String> {
    problem_within(body, TOTAL_LIMIT)
}

fn problem_within(body: &[u8], limit: u64) -> Option<String> {
    let pack = pack_of(body)?;
    Scan { rest: pack.get(12..)?, total: 0, limit }.run(count_of(pack)?)
}

/// The answer to a push that is not taken: every branch with the reason.
pub(super) fn refusal(body: &[u8], problem: &str) -> Vec<u8> {
    let commands = commands_of(body);
    let capable = |it: &str| commands.iter().any(|(_, said)| said.contains(it));
    let mut report = Vec::new();
    line::text(&mut report, "unpack ok");
    for (name, _) in &commands {
        line::text(&mut report, &format!("ng {name} {problem}"));
    }
    line::flush(&mut report);
    if !capable("report-status") {
        return Vec::new();
    }
    if !capable("side-band-64k") {
        return report;
    }
    let mut answer = Vec::new();
    line::data(&mut answer, &report);
    line::flush(&mut answer);
    answer
}

/// What is behind the commands, if it is a pack.
fn pack_of(body: &[u8]) -> Option<&[u8]> {
    let start = body.windows(8).position(|it| it == b"0000PACK")? + 4;
    body.get(start..)
}

/// The branches that are to move, each with what its line says behind the name.
fn commands_of(body: &[u8]) -> Vec<(String, String)> {
    let end = body.windows(8).position(|it| it == b"0000PACK").unwrap_or(body.len());
    let lines = line::read(&body[..end]).unwrap_or_default();
    let command = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        let (command, said) = text.split_once('\0').unwrap_or((&text, ""));
        let name = command.splitn(3, ' ').nth(2)?;
        Some((name.to_owned(), said.to_owned()))
    };
    lines.into_iter().filter_map(line::Line::text).filter_map(command).collect()
}

fn count_of(pack: &[u8]) -> Option<u32> {
    pack.get(8..12)?.try_into().ok().map(u32::from_be_bytes)
}

/// A walk over the objects of a pack.
struct Scan<'a> {
    rest: &'a [u8],
    total: u64,
    /// Of the total.
    limit: u64,
}

impl Scan<'_> {
    fn run(mut self, count: u32) -> Option<String> {
        for _ in 0..count {
            let (kind, size) = self.head()?;
            self.total = self.total.saturating_add(size);
            let mut problem = too_large(kind, size);
            if problem.is_none() {
                let beginning = self.inflate(size)?;
                let is_delta = matches!(kind, OFFSET_DELTA | REFERENCE_DELTA);
                let made = if is_delta { result_size(&beginning)? } else { 0 };
                self.total = self.total.saturating_add(made);
                problem = too_large(kind, made);
            }
            if problem.is_none() && self.total > self.limit {
                problem = Some(format!("the push unpacks to more than {} bytes", self.limit));
            }
            if problem.is_some() {
                return problem;
            }
        }
        None
    }

    /// The kind of the next object and its size unpacked; a difference names what it is to.
    fn head(&mut self) -> Option<(u8, u64)> {
        let first = self.byte()?;
        let (kind, mut size) = ((first >> 4) & 7, u64::from(first & 15));
        let (mut more, mut shift) = (first & 0x80 != 0, 4);
        while more {
            let byte = self.byte()?;
            size |= u64::from(byte & 0x7f).checked_shl(shift)?;
            (more, shift) = (byte & 0x80 != 0, shift + 7);
        }
        match kind {
            OFFSET_DELTA => while self.byte()? & 0x80 != 0 {},
            REFERENCE_DELTA => self.rest = self.rest.get(20..)?,
            _ => {}
        }
        Some((kind, size))
    }

    /// The beginning of the next object; stops at a stream that is longer than it says.
    fn inflate(&mut self, size: u64) -> Option<Vec<u8>> {
        let mut stream = Decompress::new(true);
        let (mut kept, mut buf) = (Vec::new(), [0; 16 * 1024]);
        loop {
            let (read, made) = (stream.total_in(), stream.total_out());
            let status = stream.decompress(self.rest, &mut buf, FlushDecompress::None).ok()?;
            self.rest = self.rest.get(usize::try_from(stream.total_in() - read).ok()?..)?;
            let made = usize::try_from(stream.total_out() - made).ok()?;
            kept.extend(buf.iter().take(made.min(DELTA_HEAD.saturating_sub(kept.len()))));
            match status {
                Status::StreamEnd => return (stream.total_out() == size).then_some(kept),
                _ if stream.total_out() > size || (made == 0 && stream.total_in() == read) => {
                    return None;
                }
                Status::Ok | Status::BufError => {}
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }
}

/// What a difference makes, from its head: the size before, then the size after.
fn result_size(delta: &[u8]) -> Option<u64> {
    let mut bytes = delta.iter();
    let mut number = || {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = *bytes.next()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
        }
    };
    number()?;
    number()
}

/// A difference may be one of files or of folders: files are not larger, folders seldom are.
fn too_large(kind: u8, size: u64) -> Option<String> {
    let limit = if kind == BLOB { BLOB_LIMIT } else { OBJECT_LIMIT };
    (size > limit).then(|| {
        let what = if kind == BLOB { "a file" } else { "an object" };
        format!("{what} of {size} bytes is in the push; at most {limit} are taken")
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn sizes_are_known_without_unpacking() {
        check(&[(BLOB, vec![0; MIB])], "taken");
        check(&[(BLOB, vec![0; MIB + 1])], "a file of 1048577 bytes");
        check(&[(2, vec![0; MIB + 1]), (BLOB, vec![1])], "taken");
        check(&[(BLOB, vec![1]), (2, vec![0; 16 * MIB + 1])], "an object of 16777217 bytes");
    }

    #[test]
    fn a_difference_counts_for_what_it_makes() {
        // From one byte to 2^40.
        let bomb = [1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x90, 0];
        check(&[(REFERENCE_DELTA, bomb.to_vec())], "an object of 1099511627776 bytes");
        check(&[(REFERENCE_DELTA, vec![1, 5, 0x90, 0])], "taken");
    }

    #[test]
    fn many_small_ones_are_too_much_together() {
        let many = pack(&vec![(BLOB, vec![0; 100]); 11]);
        let problem = problem_within(&many, 1000).expect("too much");
        assert_eq!(problem, "the push unpacks to more than 1000 bytes");
        assert_eq!(problem_within(&many, 1100), None);
    }

    #[test]
    fn what_is_no_pack_is_for_git_to_judge() {
        assert_eq!(problem(b"0000"), None);
        assert_eq!(problem(b"0000PACK"), None);
        let mut lies = pack(&[(BLOB, vec![0; 10])]);
        lies[16] = 0x31;
        assert_eq!(problem(&lies), None, "the size is not what it unpacks to");
    }

    #[test]
    fn every_branch_is_told() {
        let mut body = Vec::new();
        line::text(&mut body, "0 1 refs/heads/main\0 report-status side-band-64k");
        line::text(&mut body, "0 1 refs/heads/b");
        line::flush(&mut body);
        let answer = String::from_utf8_lossy(&refusal(&body, "no")).into_owned();
        assert!(answer.contains("ng refs/heads/main no") && answer.contains("ng refs/heads/b no"));
        assert!(answer.ends_with("00000000"), "{answer}");
    }

    #[track_caller]
    fn check(objects: &[(u8, Vec<u8>)], expected: &str) {
        let actual = problem(&pack(objects)).unwrap_or_else(|| "taken".to_owned());
        assert!(actual.contains(expected), "{actual}");
    }

    fn pack(objects: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut body = b"0000PACK\0\0\0\x02".to_vec();
        body.extend((objects.len() as u32).to_be_bytes());
        for (kind, bytes) in objects {
            let mut size = bytes.len();
            let mut byte = (kind << 4) | (size & 15) as u8;
            size >>= 4;
            while size > 0 {
                body.push(byte | 0x80);
                (byte, size) = ((size & 0x7f) as u8, size >> 7);
            }
            body.push(byte);
            if *kind == REFERENCE_DELTA {
                body.extend([0; 20]);
            }
            let mut packed = ZlibEncoder::new(&mut body, Compression::fast());
            packed.write_all(bytes).expect("memory");
            packed.finish().expect("memory");
        }
        body
    }
}
