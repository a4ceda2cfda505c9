//! Plain tables: no frames, so that lines can be cut and searched.

use comfy_table::{ContentArrangement, presets};

use super::Look;

/// Rows below a header; columns as wide as they need.
pub(super) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    look: &Look,
) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table.add_rows(rows);
    if let Some(width) = look.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

pub(super) fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}
