//! Public access to private parsers, for the fuzzers alone.

use crate::client::sse::{Message, Reader};

/// One message of a stream: its event, its id, its data.
pub type MessageParts = (Option<String>, Option<String>, String);

/// The messages of a stream that arrives in these pieces; `None` if one is too
/// large.
pub fn stream<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<MessageParts>> {
    let mut reader = Reader::default();
    let mut told = Vec::new();
    for piece in pieces {
        reader.push(piece).ok()?;
        let messages = std::iter::from_fn(|| reader.pop());
        told.extend(messages.map(|Message { event, id, data }| (event, id, data)));
    }
    Some(told)
}
