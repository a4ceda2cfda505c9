//! Texts as parts of URLs.

/// Escapes a text as part of a query.
pub(crate) fn escaped(text: &str) -> String {
    escape(text, b"-._~")
}

/// Escapes a text as part of a path, where slashes and colons stay.
pub(crate) fn path_escaped(text: &str) -> String {
    escape(text, b"-._~/:@")
}

fn escape(text: &str, plain: &[u8]) -> String {
    let each = text.bytes().map(|it| match it.is_ascii_alphanumeric() || plain.contains(&it) {
        true => char::from(it).to_string(),
        false => format!("%{it:02X}"),
    });
    each.collect()
}
