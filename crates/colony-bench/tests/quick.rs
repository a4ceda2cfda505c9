//! The benches run at all: a small round of each.

use std::process::Command;

#[test]
fn every_bench_prints_its_table() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_colony-bench")).arg("--quick").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let titles: Vec<&str> = text.lines().filter_map(|it| it.strip_prefix("### ")).collect();
    let starts: Vec<&str> = titles.iter().filter_map(|it| it.split([':', ' ']).next()).collect();
    assert_eq!(starts, ["Site", "Site", "Full", "Manifest", "Hash", "Projection"]);
}
