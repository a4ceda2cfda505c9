//! Writes YAML: the same value always gives the same bytes.
//!
//! The output is addressed by its digest, and a change of style in a library
//! would look to every device like another deployment. So colony has its own
//! writer, small and conservative: a text is plain only if no reader could
//! parse it as anything else, including old YAML 1.1 readers in Go and Python.

use crate::Json;

/// Words that some reader parses as a boolean or null, in lower case.
const RESERVED: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// Bytes of the longest key on one line with its value.
const KEY_LENGTH: usize = 500;

/// Writes a value as a YAML document in block style, with a line end.
pub fn emit(value: &Json) -> String {
    let mut out = String::new();
    if is_block(value) {
        block(&mut out, value, 0);
    } else {
        inline(&mut out, value);
        out.push('\n');
    }
    out
}

/// Writes a map or list that is not empty, each entry on its own lines.
fn block(out: &mut String, value: &Json, indent: usize) {
    let mut pad = "";
    let margin = " ".repeat(indent);
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                out.push_str(pad);
                write_key(out, key, &margin);
                nested(out, value, indent, &Json::is_array);
                pad = &margin;
            }
        }
        Json::Array(items) => {
            for item in items {
                out.push_str(pad);
                out.push('-');
                list_item(out, item, indent);
                pad = &margin;
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => inline(out, value),
    }
}

/// Readers reject a long key, unless a question mark announces it.
fn write_key(out: &mut String, key: &str, margin: &str) {
    let mut written = String::new();
    text(&mut written, key);
    if written.len() <= KEY_LENGTH {
        out.push_str(&format!("{written}:"));
    } else {
        out.push_str(&format!("? {written}\n{margin}:"));
    }
}

/// Writes the value of a key. A list starts at the column of its key.
fn nested(out: &mut String, value: &Json, indent: usize, flush: &dyn Fn(&Json) -> bool) {
    if !is_block(value) {
        out.push(' ');
        inline(out, value);
        out.push('\n');
        return;
    }
    let indent = if flush(value) { indent } else { indent + 2 };
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    block(out, value, indent);
}

/// Writes a list item, which starts on the line of its dash.
fn list_item(out: &mut String, item: &Json, indent: usize) {
    out.push(' ');
    if is_block(item) {
        block(out, item, indent + 2);
    } else {
        inline(out, item);
        out.push('\n');
    }
}

fn is_block(value: &Json) -> bool {
    match value {
        Json::Object(entries) => !entries.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

fn inline(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(value) => out.push_str(&number(&value.to_string())),
        Json::String(value) => text(out, value),
        Json::Array(_) => out.push_str("[]"),
        Json::Object(_) => out.push_str("{}"),
    }
}

/// YAML 1.1 requires a point and a signed exponent, or it reads a text.
fn number(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

fn text(out: &mut String, text: &str) {
    if is_plain(text) { out.push_str(text) } else { quoted(out, text) }
}

/// Whether every reader parses the unquoted text as that text.
fn is_plain(text: &str) -> bool {
    let starts_safe = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./@ ".contains(c);
    let slashes = text.replace("://", "//");
    starts_safe
        && text.len() <= 200
        && !text.ends_with(' ')
        && slashes.chars().all(allowed)
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x1_0000 => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push_str(&format!("\\U{:08X}", c as u32)),
        }
    }
    out.push('"');
}

/// Whether every reader accepts the character unescaped inside quotes.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{A0}'..='\u{2027}' | '\u{2030}'..='\u{D7FF}' | '\u{E000}'..='\u{FDCF}')
        && c != '\u{FEFF}'
}
