//! What must hold, said once.

use std::fmt::Debug;

use colony_core::margo::{Finding, Json, Severity, canonical, yaml};

/// Findings are of use: bounded, on one line, and inside the text they are about.
pub(crate) fn findings(text: &[u8], all: &[Finding]) {
    assert!(all.len() <= 100, "{} findings of one document", all.len());
    all.iter().for_each(|it| finding(text, it));
}

/// A refusal has at least one finding that is an error.
pub(crate) fn refusal(text: &[u8], all: &[Finding]) {
    assert!(all.iter().any(|it| it.severity == Severity::Error), "refused without an error");
    findings(text, all);
}

fn finding(text: &[u8], it: &Finding) {
    let printed = it.to_string();
    assert!(!it.problem.is_empty(), "a finding without a problem");
    assert!(printed.len() <= 4096, "a finding of {} bytes: {printed:.200}", printed.len());
    assert!(!printed.chars().any(char::is_control), "a finding breaks its line: {printed:?}");
    if it.line > 0 && it.file.is_none() {
        inside(text, it.line as usize, it.column as usize);
    }
}

/// One behind the end counts: something is missing there.
fn inside(text: &[u8], line: usize, column: usize) {
    let text = String::from_utf8_lossy(text);
    // A lone carriage return ends a line of YAML too.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(line <= lines.len() + 1, "line {line} of {}", lines.len());
    let length = lines.get(line - 1).map_or(0, |it| it.chars().count());
    assert!(column >= 1 && column <= length + 2, "column {column} of {length} in line {line}");
}

/// A value prints as canonical JSON that prints as itself.
pub(crate) fn canonical(json: &Json) -> Vec<u8> {
    let bytes = canonical::to_vec(json);
    let again: Json = serde_json::from_slice(&bytes).expect("canonical JSON is JSON");
    assert_eq!(canonical::to_vec(&again), bytes, "canonical form is not its own canonical form");
    bytes
}

/// A value survives our YAML.
pub(crate) fn yaml(json: &Json) -> String {
    let text = yaml::emit(json);
    // The value did not come through a reader with limits.
    let (bytes, nodes, scalar) = (usize::MAX, usize::MAX, usize::MAX);
    let limits = yaml::Limits { bytes, nodes, scalar, ..yaml::Limits::default() };
    let again = yaml::parse(text.as_bytes(), &limits);
    let again = again.unwrap_or_else(|it| panic!("we write what we cannot read: {it:?}\n{text}"));
    same(&again.to_json(), json, &text);
    assert_eq!(yaml::emit(&again.to_json()), text, "our YAML is not written the same again");
    text
}

/// Two readings are one.
#[track_caller]
pub(crate) fn same<T: PartialEq + Debug>(again: &T, first: &T, printed: &str) {
    assert!(again == first, "read again it differs:\n{again:?}\n{first:?}\nprinted {printed:?}");
}
