//! A text that is redrawn in place on a terminal.

use super::RenderOptions;
use crate::terminal::printable_line;

/// More lines than this scroll away and cannot be redrawn.
const LINES: usize = 30;

/// Remembers how many lines have to be redrawn.
#[derive(Debug, Default)]
pub(crate) struct Live {
    drawn: usize,
}

impl Live {
    /// The text that replaces the lines drawn before with `lines`. `urgent`
    /// lines come first where not all fit.
    pub(crate) fn frame(&mut self, lines: &[(bool, String)], look: &RenderOptions) -> String {
        let shown = fit(lines, look);
        let back = match self.drawn {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        };
        self.drawn = shown.len();
        let text: String = shown.iter().map(|it| format!("{it}\n")).collect();
        back + &text
    }
}

/// Cuts lines to the width: a folded line would be counted as one.
fn fit(lines: &[(bool, String)], look: &RenderOptions) -> Vec<String> {
    let width = usize::from(look.width.unwrap_or(120)).max(20);
    let cut = |text: &String| {
        let text = printable_line(text);
        match text.chars().count() > width {
            true => text.chars().take(width - 1).chain(['…']).collect(),
            false => text,
        }
    };
    if lines.len() <= LINES {
        return lines.iter().map(|(_, text)| cut(text)).collect();
    }
    let urgent = lines.iter().filter(|it| it.0);
    let rest = lines.iter().filter(|it| !it.0);
    let mut shown: Vec<String> =
        urgent.chain(rest).take(LINES - 1).map(|(_, text)| cut(text)).collect();
    shown.push(format!("… and {} more", lines.len() - shown.len()));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn a_frame_takes_the_place_of_the_one_before() {
        let mut live = Live::default();
        let look = RenderOptions { width: Some(20), ..sample::look() };
        assert_eq!(live.frame(&lines(2), &look), "line 0\nline 1\n");
        assert_eq!(live.frame(&lines(1), &look), "\x1b[2A\r\x1b[Jline 0\n");
        let long = [(false, "x".repeat(30))];
        assert_eq!(live.frame(&long, &look), format!("\x1b[1A\r\x1b[J{}…\n", "x".repeat(19)));
    }

    #[test]
    fn what_is_urgent_is_shown_where_not_all_fits() {
        let mut all = lines(100);
        all[77].0 = true;
        let text = Live::default().frame(&all, &sample::look());
        assert!(text.starts_with("line 77\nline 0\n"), "{text}");
        assert!(text.ends_with("line 27\n… and 71 more\n"), "{text}");
    }

    fn lines(count: usize) -> Vec<(bool, String)> {
        (0..count).map(|it| (false, format!("line {it}"))).collect()
    }
}
