//! Git's pkt-lines: four hexadecimal digits of length, which count themselves,
//! then the text.

/// The most data of one line, behind the number of its band.
const BAND_LIMIT: usize = 65_515;
/// The longest line that git accepts, including its digits.
const LENGTH_LIMIT: usize = 65_520;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Without the line feed at its end.
    Text(&'a [u8]),
    Delimiter,
    Flush,
}

impl<'a> Line<'a> {
    pub(super) fn text(self) -> Option<&'a [u8]> {
        match self {
            Line::Text(it) => Some(it),
            Line::Delimiter | Line::Flush => None,
        }
    }
}

/// The lines of a body; `None` if it does not consist of lines.
pub(super) fn read(mut body: &[u8]) -> Option<Vec<Line<'_>>> {
    let mut lines = Vec::new();
    while !body.is_empty() {
        let (line, rest) = first(body)?;
        lines.push(line);
        body = rest;
    }
    Some(lines)
}

/// The first line of a body, and the rest.
pub(super) fn first(body: &[u8]) -> Option<(Line<'_>, &[u8])> {
    let length = length(body.get(..4)?)?;
    let line = match length {
        0 => Line::Flush,
        1 => Line::Delimiter,
        5..=LENGTH_LIMIT => {
            let text = body.get(4..length)?;
            Line::Text(text.strip_suffix(b"\n").unwrap_or(text))
        }
        _ => return None,
    };
    Some((line, body.get(length.max(4)..)?))
}

/// Hexadecimal digits only; a sign is not accepted.
fn length(digits: &[u8]) -> Option<usize> {
    let value = |it: u8| char::from(it).to_digit(16).map(|it| it as usize);
    digits.iter().try_fold(0, |length, it| Some(length * 16 + value(*it)?))
}

pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(format!("{:04x}{text}\n", text.len() + 5).bytes());
}

/// Bytes on the band of data.
pub(super) fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.chunks(BAND_LIMIT) {
        out.extend(format!("{:04x}\u{1}", part.len() + 5).bytes());
        out.extend(part);
    }
}

pub(super) fn delimiter(out: &mut Vec<u8>) {
    out.extend(b"0001");
}

pub(super) fn flush(out: &mut Vec<u8>) {
    out.extend(b"0000");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        check("000bcommand00010006a\n0000", Some("command|-|a|."));
        check("0004", None);
        check("0003", None);
        check("00", None);
        check("0009abcd", None);
        check("-004abcd", None);
        check("+00bcommand", None);
        check(" 00bcommand", None);
        check("000Bcommand", Some("command"));
        check("zzzz", None);
        check("", Some(""));
    }

    #[test]
    fn a_line_is_no_longer_than_git_takes() {
        let line = |length: usize| format!("{length:04x}{}", "a".repeat(length - 4));
        assert!(read(line(LENGTH_LIMIT).as_bytes()).is_some());
        assert!(read(line(LENGTH_LIMIT + 1).as_bytes()).is_none());
    }

    #[test]
    fn bands_are_cut_where_git_cuts_them() {
        let mut out = Vec::new();
        data(&mut out, &vec![7; 70_000]);
        assert_eq!(&out[..5], b"fff0\x01");
        assert_eq!(out.len(), 70_000 + 2 * 5);
    }

    #[track_caller]
    fn check(body: &str, expected: Option<&str>) {
        let told = |it: &Line<'_>| match it {
            Line::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Line::Delimiter => "-".to_owned(),
            Line::Flush => ".".to_owned(),
        };
        let lines = read(body.as_bytes());
        let actual = lines.map(|it| it.iter().map(told).collect::<Vec<_>>().join("|"));
        assert_eq!(actual.as_deref(), expected, "{body}");
    }
}
