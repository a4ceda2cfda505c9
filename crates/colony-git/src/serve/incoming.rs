//! Checks a push before git unpacks it.
//!
//! Git limits the bytes of a pack, not their unpacked size: a few kilobytes can
//! become a file that every site would have to hold in memory. Each object
//! starts with its size, so a large one is found without unpacking it.

use flate2::{Decompress, FlushDecompress, Status};

use super::line::{self, Line};
use crate::repo::{BLOB_LIMIT, OBJECT_LIMIT};

/// All objects of one push together, unpacked.
const TOTAL_LIMIT: u64 = 1024 * 1024 * 1024;
/// The longest head of a delta: two numbers of ten bytes.
const DELTA_HEAD: usize = 20;
const UNREADABLE: &str = "the pack of the push cannot be read";
const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
const REFERENCE_DELTA: u8 = 7;

/// Why a push is refused, if it is. A pack that cannot be read here is refused
/// too: git is more lenient and would unpack it without these limits.
pub(super) fn problem(body: &[u8]) -> Option<String> {
    problem_within(body, TOTAL_LIMIT)
}

fn problem_within(body: &[u8], limit: u64) -> Option<String> {
    let (_, pack) = parted(body);
    // A push without a pack only deletes branches, or checks for access.
    if pack.is_empty() {
        return None;
    }
    scan(pack, limit).err()
}

/// The answer to a refused push: every branch with the reason.
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

/// The lines of a push and the rest: a pack, whose first bytes cannot be the
/// length of a line.
fn parted(body: &[u8]) -> (Vec<Line<'_>>, &[u8]) {
    let (mut lines, mut rest) = (Vec::new(), body);
    while let Some((line, behind)) = line::first(rest) {
        lines.push(line);
        rest = behind;
    }
    (lines, rest)
}

/// The branches to update, each with the capabilities on its line.
fn commands_of(body: &[u8]) -> Vec<(String, String)> {
    let command = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        let (command, said) = text.split_once('\0').unwrap_or((&text, ""));
        let name = command.splitn(3, ' ').nth(2)?;
        Some((name.to_owned(), said.to_owned()))
    };
    let (lines, _) = parted(body);
    lines.into_iter().filter_map(Line::text).filter_map(command).collect()
}

fn scan(pack: &[u8], limit: u64) -> Result<(), String> {
    let (count, rest) = objects_of(pack).ok_or(UNREADABLE)?;
    Scan { rest, total: 0, limit }.run(count)
}

/// The number of objects in a pack and the bytes that follow its header.
fn objects_of(pack: &[u8]) -> Option<(u32, &[u8])> {
    let behind = pack.strip_prefix(b"PACK")?.get(4..)?;
    let (count, rest) = behind.split_first_chunk()?;
    Some((u32::from_be_bytes(*count), rest))
}

/// A walk over the objects of a pack.
struct Scan<'a> {
    rest: &'a [u8],
    total: u64,
    /// Of `total`.
    limit: u64,
}

impl Scan<'_> {
    fn run(mut self, count: u32) -> Result<(), String> {
        for _ in 0..count {
            let (kind, size) = self.head().ok_or(UNREADABLE)?;
            self.add(kind, size)?;
            let beginning = self.inflate(size).ok_or(UNREADABLE)?;
            if matches!(kind, OFFSET_DELTA | REFERENCE_DELTA) {
                self.add(kind, result_size(&beginning).ok_or(UNREADABLE)?)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, kind: u8, size: u64) -> Result<(), String> {
        too_large(kind, size).map_or(Ok(()), Err)?;
        self.total = self.total.saturating_add(size);
        if self.total > self.limit {
            return Err(format!("the push unpacks to more than {} bytes", self.limit));
        }
        Ok(())
    }

    /// The kind of the next object and its unpacked size; skips the base of a
    /// delta.
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

    /// The beginning of the next object; fails if the stream is longer than its
    /// declared size.
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

/// The size of the object a delta produces, from its head: first the size of
/// the base, then of the result.
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

/// The kind of the object a delta produces is unknown here, so deltas have the
/// limit of objects other than files.
fn too_large(kind: u8, size: u64) -> Option<String> {
    let limit = if kind == BLOB { BLOB_LIMIT } else { OBJECT_LIMIT };
    (size > limit).then(|| {
        let what = if kind == BLOB { "a file" } else { "an object" };
        format!("{what} of {size} bytes is in the push; at most {limit} are accepted")
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
        check(&[(BLOB, vec![1]), (2, vec![0; 16 * MIB])], "taken");
        check(&[(BLOB, vec![1]), (2, vec![0; 16 * MIB + 1])], "an object of 16777217 bytes");
    }

    #[test]
    fn a_difference_counts_for_what_it_makes() {
        // From one byte to 2^40.
        let bomb = [1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x90, 0];
        check(&[(REFERENCE_DELTA, bomb.to_vec())], "an object of 1099511627776 bytes");
        check(&[(OFFSET_DELTA, bomb.to_vec())], "an object of 1099511627776 bytes");
        check(&[(REFERENCE_DELTA, vec![1, 5, 0x90, 0])], "taken");
        // From 128 bytes to the limit, and to one byte more.
        check(&[(OFFSET_DELTA, vec![0x80, 1, 0x80, 0x80, 0x80, 8])], "taken");
        check(&[(OFFSET_DELTA, vec![0x80, 1, 0x81, 0x80, 0x80, 8])], "an object of 16777217 bytes");
        check(&[(OFFSET_DELTA, vec![0x80])], UNREADABLE);
        check(&[(REFERENCE_DELTA, vec![1, 0x80])], UNREADABLE);
    }

    #[test]
    fn objects_behind_others_are_found() {
        let large = (BLOB, vec![0; MIB + 1]);
        for before in
            [(OFFSET_DELTA, vec![1, 5]), (REFERENCE_DELTA, vec![1, 5]), (BLOB, vec![7; MIB])]
        {
            check(&[before, large.clone()], "a file of 1048577 bytes");
        }
    }

    #[test]
    fn many_small_ones_are_too_much_together() {
        let many = pack(&vec![(BLOB, vec![0; 100]); 11]);
        let problem = problem_within(&many, 1000).expect("too much");
        assert_eq!(problem, "the push unpacks to more than 1000 bytes");
        assert_eq!(problem_within(&many, 1100), None);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for body in ["", "0000", "0009 main0000"] {
            assert_eq!(problem(body.as_bytes()), None, "{body}");
        }
        for body in ["0000PACK", "0000PACK\0\0\0\u{2}\0\0\0", "0002PACK", "0000pack", "0004"] {
            assert_eq!(problem(body.as_bytes()).as_deref(), Some(UNREADABLE), "{body}");
        }
        let mut lies = pack(&[(BLOB, vec![0; 10])]);
        lies[16] = 0x31;
        assert_eq!(problem(&lies).as_deref(), Some(UNREADABLE), "it unpacks to another size");
        let whole = pack(&[(BLOB, vec![7; 100])]);
        for cut in 17..whole.len() {
            let problem = problem(&whole[..cut]);
            assert_eq!(problem.as_deref(), Some(UNREADABLE), "cut at {cut}");
        }
        lies.splice(16..17, [0xba].into_iter().chain([0x80; 10]).chain([0]));
        assert_eq!(problem(&lies).as_deref(), Some(UNREADABLE), "a size of more than 64 bits");
    }

    #[test]
    fn a_name_that_looks_like_a_pack_hides_none() {
        let mut body = Vec::new();
        line::text(&mut body, "0 1 refs/heads/0000PACK0000PACK\0 report-status");
        body.extend(pack(&[(BLOB, vec![0; MIB + 1])]));
        let problem = problem(&body).expect("too large");
        assert!(problem.starts_with("a file of 1048577 bytes"), "{problem}");
        let answer = String::from_utf8_lossy(&refusal(&body, "no")).into_owned();
        assert!(answer.contains("ng refs/heads/0000PACK0000PACK no"), "{answer}");
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
            match *kind {
                REFERENCE_DELTA => body.extend([0; 20]),
                OFFSET_DELTA => body.extend([0x81, 1]),
                _ => {}
            }
            let mut packed = ZlibEncoder::new(&mut body, Compression::fast());
            packed.write_all(bytes).expect("memory");
            packed.finish().expect("memory");
        }
        body
    }
}
