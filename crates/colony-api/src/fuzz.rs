//! Doors to private readers, for the fuzzers alone.

use crate::client::sse::{Message, Reader};

/// One message of a stream: its event, its id, its data.
pub type Told = (Option<String>, Option<String>, String);

/// The messages of a stream that comes in these pieces; `None` if one is too
/// large.
pub fn stream<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<Told>> {
    let mut reader = Reader::default();
    let mut told = Vec::new();
    for piece in pieces {
        reader.push(piece).ok()?;
        let messages = std::iter::from_fn(|| reader.pop());
        told.extend(messages.map(|Message { event, id, data }| (event, id, data)));
    }
    Some(told)
}
