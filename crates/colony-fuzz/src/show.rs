//! How results look, and where inputs that broke something are kept.

use std::fs;
use std::path::PathBuf;

use colony_core::margo::Digest;
use colony_fuzz::{Finding, Ran};

pub(crate) const HEAD: &str =
    "target                corpus      runs   per second  outcomes  findings";

pub(crate) fn line(ran: &Ran) -> String {
    let rate = ran.runs as f64 / ran.took.as_secs_f64().max(0.001);
    let Ran { target, corpus, runs, outcomes, findings, .. } = ran;
    format!("{target:<20} {corpus:>7} {runs:>9} {rate:>12.0} {outcomes:>9} {:>9}", findings.len())
}

/// What was found, and the way to see it again.
pub(crate) fn finding(ran: &Ran, finding: &Finding) -> String {
    let what: String = finding.what.chars().take(1200).collect();
    let shown: String = String::from_utf8_lossy(&finding.input).chars().take(400).collect();
    let again = match keep(ran.target, &finding.input) {
        Ok(path) => {
            format!(
                "cargo run --release -p colony-fuzz -- --input {} {}",
                path.display(),
                ran.target
            )
        }
        Err(error) => format!("the input could not be kept: {error}"),
    };
    let length = finding.input.len();
    format!("  found: {what}\n  input of {length} bytes: {shown:?}\n  again: {again}")
}

/// Keeps an input beside the build, where nothing is committed from.
pub(crate) fn keep(target: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let base =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let dir = base.join("fuzz").join(target);
    fs::create_dir_all(&dir)?;
    let path = dir.join(Digest::of(input).short());
    fs::write(&path, input)?;
    Ok(path)
}
