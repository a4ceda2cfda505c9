//! What container engines answer, where it is read by ourselves.

use colony_runtime::fuzz;

use crate::Outcome;

/// An answer as success, as absence and as a failure, to each question.
pub(super) fn engine(input: &[u8]) -> Outcome {
    let mut seen = String::new();
    for status in [200, 404, 500] {
        for reading in fuzz::engine(status, input) {
            match reading {
                Ok(told) => {
                    assert_eq!(status, 200, "a failure is taken for an answer");
                    seen.push_str(&told);
                }
                Err(failures) => failures.iter().for_each(|it| shown(&it.message)),
            }
            seen.push(' ');
        }
        seen.push_str(&codes(status, input));
    }
    Outcome::taken(seen)
}

/// Failures go into logs, events and answers: one line each, and no novel.
fn shown(message: &str) {
    assert!(message.starts_with("could not "), "{message:?}");
    assert!(message.chars().count() <= 700, "{} characters", message.chars().count());
    assert!(!message.contains(char::is_control), "{message:?} breaks its line");
}

/// Which codes follow from the words.
fn codes(status: u16, input: &[u8]) -> String {
    let failures = fuzz::refused(status, input);
    failures.iter().for_each(|it| shown(&it.message));
    format!("{} {} ", failures[0].code, failures[1].code)
}
