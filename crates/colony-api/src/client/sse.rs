//! Reads a stream of server-sent events, byte by byte, within limits.
//!
//! Pure: the caller pushes bytes and pops the messages they completed.

use std::collections::VecDeque;

/// The most one message may hold.
pub(crate) const MESSAGE_LIMIT: usize = 4 << 20;

/// The longest id that is kept: every later message has a copy of it.
const ID_LIMIT: usize = 256;

/// One message of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) event: Option<String>,
    /// The last id that was sent, of this message or an earlier one.
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

/// A message exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The bytes that are not a message yet, and the messages that are complete.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    message: Message,
    done: VecDeque<Message>,
}

impl Reader {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                other => self.line.push(*other),
            }
            if self.line.len() + self.message.data.len() > MESSAGE_LIMIT {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<Message> {
        self.done.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        match line.split_once(':') {
            None if line.is_empty() => self.end_message(),
            // A comment, which keeps the connection alive.
            Some(("", _)) => {}
            Some((field, value)) => self.field(field, value.strip_prefix(' ').unwrap_or(value)),
            None => self.field(line, ""),
        }
    }

    fn field(&mut self, field: &str, value: &str) {
        match field {
            "event" => self.message.event = Some(value.to_owned()),
            "id" if value.len() <= ID_LIMIT => self.message.id = Some(value.to_owned()),
            "data" => {
                self.message.data.push_str(value);
                self.message.data.push('\n');
            }
            _ => {}
        }
    }

    fn end_message(&mut self) {
        let next = Message { id: self.message.id.clone(), ..Message::default() };
        let mut message = std::mem::replace(&mut self.message, next);
        message.data.truncate(message.data.trim_end_matches('\n').len());
        if !message.data.is_empty() || message.event.is_some() {
            self.done.push_back(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_at_an_empty_line() {
        check("data: a\n\ndata: b\n\n", "message - a|message - b");
        check("data: a\ndata: b\n\n", "message - a+b");
        check("data: a\n", "");
    }

    #[test]
    fn ids_stay_and_names_do_not() {
        check("id: e-1\nevent: event\ndata: a\n\ndata: b\n\n", "event e-1 a|message e-1 b");
        check("event: reset\n\n", "reset - ");
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        check(": alive\n\nretry: 5\r\ndata:x\r\n\r\n", "message - x");
    }

    #[test]
    fn a_message_without_end_is_refused() {
        let mut reader = Reader::default();
        let endless = vec![b'x'; MESSAGE_LIMIT + 1];
        assert_eq!(reader.push(&endless), Err(TooLarge));
        let mut reader = Reader::default();
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        let all = (0..8).try_for_each(|_| reader.push(line.as_bytes()));
        assert_eq!(all, Err(TooLarge));
    }

    #[test]
    fn an_id_nobody_gives_is_not_repeated() {
        let id = "x".repeat(ID_LIMIT + 1);
        check(&format!("id: e-1\nid: {id}\ndata: a\n\n"), "message e-1 a");
    }

    /// The messages are the same however the bytes are split.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        for size in 1..=text.len() {
            let mut reader = Reader::default();
            for piece in text.as_bytes().chunks(size) {
                reader.push(piece).expect("small");
            }
            let messages: Vec<String> = std::iter::from_fn(|| reader.pop()).map(render).collect();
            assert_eq!(messages.join("|"), expected, "in pieces of {size}");
        }
    }

    fn render(message: Message) -> String {
        let (event, id) = (message.event.as_deref(), message.id.as_deref());
        let data = message.data.replace('\n', "+");
        format!("{} {} {data}", event.unwrap_or("message"), id.unwrap_or("-"))
    }
}
