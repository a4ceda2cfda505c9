//! Prints the table of a run: `colony-chaos <records> [<document>]`. With a
//! document, the table between its marks is replaced.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::path::Path;

use anyhow::Context;
use colony_chaos::{read, table};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let records = arguments.next().context("usage: colony-chaos <records> [<document>]")?;
    let text = std::fs::read_to_string(&records).with_context(|| format!("read {records}"))?;
    let table = table::render(&read(&text)?);
    print!("{table}");
    match arguments.next() {
        Some(document) => replace(Path::new(&document), &table),
        None => Ok(()),
    }
}

fn replace(document: &Path, table: &str) -> anyhow::Result<()> {
    let name = document.display();
    let text = std::fs::read_to_string(document).with_context(|| format!("read {name}"))?;
    let text = table::replaced(&text, table)
        .with_context(|| format!("{name} has no `{}` and `{}`", table::BEGIN, table::END))?;
    std::fs::write(document, text).with_context(|| format!("write {name}"))
}
