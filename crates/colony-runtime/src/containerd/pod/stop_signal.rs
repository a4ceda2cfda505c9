//! Signals by name, as compose files write them: containerd takes numbers.

use crate::containerd::pod::refused;
use crate::containers::api::Answer;

/// The signals that end programs, or that programs take as a request to end.
const SIGNALS: [(&str, u32); 12] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("ALRM", 14),
    ("TERM", 15),
    ("WINCH", 28),
    ("PWR", 30),
    ("RTMIN", 34),
];
const LAST: u32 = 64;

/// The number of `SIGINT`, `INT`, `2` or `SIGRTMIN+3`.
pub(super) fn number(text: &str) -> Answer<u32> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let (name, more) = name.split_once('+').unwrap_or((name, "0"));
    let named = SIGNALS.iter().find(|it| it.0 == name).map(|it| it.1);
    let number = named.or_else(|| name.parse().ok()).zip(more.parse::<u32>().ok());
    let number = number.and_then(|(signal, more)| signal.checked_add(more));
    let is_signal = |it: &u32| (1..=LAST).contains(it);
    number.filter(is_signal).ok_or_else(|| {
        refused(&format!("`stop_signal` must be a signal such as SIGINT, not `{text}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_and_numbers() {
        for (text, expected) in
            [("SIGINT", 2), ("quit", 3), ("9", 9), ("SIGRTMIN+3", 37), ("SIGPWR", 30)]
        {
            assert_eq!(number(text), Ok(expected), "{text}");
        }
        for text in ["", "SIGNOTHING", "0", "65", "SIGINT+x", "RTMIN+99"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
