//! Tells the linker of static programs how to keep them small in memory.
//!
//! The addresses that are filled in at the start are kept as a bit each instead
//! of three words, of which every page would be read and stay in memory. A
//! linker that does not know this says so and goes on.
//!
//! In the small builds (`--profile edge`) the functions that an idle role does
//! not run go behind the others: see docs/decisions/0036-order-of-functions.md.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=asleep");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    if !is("CARGO_CFG_TARGET_ENV", "musl") {
        return Ok(());
    }
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    if is("OPT_LEVEL", "z") {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", order()?.display());
    }
    Ok(())
}

/// Writes the order down as the linker wants it.
fn order() -> io::Result<PathBuf> {
    let role = if env::var_os("CARGO_FEATURE_SITE").is_some() { "site" } else { "node" };
    let list = fs::read_to_string(Path::new("asleep").join(role).with_extension("txt"))?;
    let script = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("asleep.ld");
    fs::write(&script, script_of(&list))?;
    Ok(script)
}

/// It adds to the linker's own script.
fn script_of(list: &str) -> String {
    let paths = list.lines().filter(|it| !it.is_empty() && !it.starts_with('#'));
    let lines = paths.flat_map(sections).map(|it| format!("    *(.text.{it}*)\n"));
    let lines: String = lines.collect();
    format!("SECTIONS\n{{\n  .text.asleep :\n  {{\n{lines}  }}\n}}\nINSERT AFTER .text;\n")
}

/// How the names of sections begin that hold what is in `path`, and what is
/// implemented for its types. What is not Rust is written as it is, behind `=`.
fn sections(path: &str) -> Vec<String> {
    if let Some(name) = path.strip_prefix('=') {
        return vec![name.to_owned()];
    }
    let marks = [("<", "$LT$"), (">", "$GT$"), (",", "$C$"), (" ", "$u20$")];
    let path = marks.iter().fold(path.to_owned(), |it, (mark, name)| it.replace(mark, name));
    let segments: Vec<&str> = path.split("::").collect();
    let inside: String = segments.iter().map(|it| format!("{}{it}", it.len())).collect();
    vec![format!("_ZN{inside}"), format!("_ZN*_$LT${}", segments.join(".."))]
}
