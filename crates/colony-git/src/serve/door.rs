//! Access to the parsers of Git requests, for the fuzzers only.

use std::path::Path;

use super::line::{self, Line};
use super::protocol_v2;
use crate::error::Error;
use crate::repo;

/// A line: `t` and its text, `-` for a delimiter, `.` for a flush.
pub type Packet<'a> = (char, &'a [u8]);

/// The lines of a body; `None` if it does not consist of lines.
pub fn lines(body: &[u8]) -> Option<Vec<Packet<'_>>> {
    line::read(body).map(|it| it.into_iter().map(packet).collect())
}

fn packet(line: Line<'_>) -> Packet<'_> {
    match line {
        Line::Text(text) => ('t', text),
        Line::Delimiter => ('-', b""),
        Line::Flush => ('.', b""),
    }
}

/// A request's command and its arguments; `None` if it is left to git.
pub fn request(body: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    protocol_v2::parsed(body).map(|it| (it.command, it.arguments))
}

/// The answer of the repository in `dir`; `None` if it is left to git.
pub fn answer(dir: &Path, body: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let Some(request) = protocol_v2::parsed(body) else { return Ok(None) };
    protocol_v2::answer(&repo::local(&repo::open(dir)?), &request)
}
