//! Plain tables: no frames, so that lines can be cut and searched.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, presets};

use super::RenderOptions;

/// Columns with coloured values.
const COLOURED: &[&str] = &["STATE", "OUTCOME", "PRESENCE", "ACTION"];

/// Rows below a header; columns as wide as they need.
pub(super) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    look: &RenderOptions,
) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING);
    if look.colour {
        table.enforce_styling();
        table.set_header(header.map(|it| Cell::new(it).add_attribute(Attribute::Bold)));
        table.add_rows(rows.into_iter().map(|row| coloured(header, row)));
    } else {
        table.force_no_tty().set_header(header);
        table.add_rows(rows);
    }
    if let Some(width) = look.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

fn coloured<const N: usize>(header: [&str; N], row: [String; N]) -> Vec<Cell> {
    let cell = |(name, text): (&str, String)| {
        let colour = colour(&text).filter(|_| COLOURED.contains(&name));
        let cell = Cell::new(text);
        colour.map_or(cell.clone(), |it| cell.fg(it))
    };
    header.into_iter().zip(row).map(cell).collect()
}

/// The colour by the first word: well, in progress, or in need of attention.
fn colour(text: &str) -> Option<Color> {
    let word = text.split([' ', '(']).next().unwrap_or_default();
    match word {
        "INSTALLED" | "online" => Some(Color::Green),
        "PENDING" | "WAITING" | "INSTALLING" | "UPDATING" | "DELETING" | "IN" | "create"
        | "update" => Some(Color::Cyan),
        "ROLLED" | "DEFERRED" | "HELD" | "late" | "deferred" | "remove" => Some(Color::Yellow),
        "FAILED" | "CONFLICT" | "REFUSED" | "offline" | "refused" => Some(Color::Red),
        _ => None,
    }
}

/// Whether the terminal should get colours: <https://no-color.org>.
pub(super) fn wants_colour(environment: impl Fn(&str) -> Option<String>) -> bool {
    let refused = environment("NO_COLOR").is_some_and(|it| !it.is_empty());
    let dumb = environment("TERM").is_none_or(|it| it == "dumb" || it.is_empty());
    !refused && !dumb
}

pub(super) fn terminal_width() -> Option<u16> {
    // A terminal that does not know its size reports 0.
    comfy_table::Table::new().width().filter(|it| *it >= 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn states_are_coloured_and_still_words() {
        let rows = || {
            [
                ["a".to_owned(), "INSTALLED".to_owned()],
                ["INSTALLED".to_owned(), "FAILED(update)".to_owned()],
            ]
        };
        let plain = table(["NAME", "STATE"], rows(), &sample::look());
        assert_eq!(plain, "NAME       STATE\na          INSTALLED\nINSTALLED  FAILED(update)");
        let look = RenderOptions { colour: true, ..sample::look() };
        let painted = table(["NAME", "STATE"], rows(), &look);
        assert!(painted.contains("\x1b[38;5;10mINSTALLED"), "{painted:?}");
        assert!(painted.contains("\x1b[38;5;9mFAILED(update)"), "{painted:?}");
        assert_eq!(painted.matches("INSTALLED").count(), 2);
        assert_eq!(painted.matches("\x1b[38;5;10m").count(), 1, "a name has no colour");
    }

    #[test]
    fn colours_can_be_refused() {
        check(&[("TERM", "xterm")], true);
        check(&[("TERM", "xterm"), ("NO_COLOR", "1")], false);
        check(&[("TERM", "xterm"), ("NO_COLOR", "")], true);
        check(&[("TERM", "dumb")], false);
        check(&[], false);
    }

    #[track_caller]
    fn check(set: &[(&str, &str)], expected: bool) {
        let environment = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
        assert_eq!(wants_colour(environment), expected, "{set:?}");
    }
}
