//! The table of engines and behaviours in `docs/engines.md`.

use crate::conformance::{Behaviour, EngineColumn, Support};

const COLUMNS: [(EngineColumn, &str); 5] = [
    (EngineColumn::Docker, "docker"),
    (EngineColumn::Podman, "podman"),
    (EngineColumn::Containerd, "containerd"),
    (EngineColumn::Kubernetes, "kubernetes"),
    (EngineColumn::Simulator, "simulator"),
];

#[test]
fn the_page_prints_the_table_of_behaviours() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engines.md");
    let page = std::fs::read_to_string(path).expect("docs/engines.md is readable");
    let table = markdown();
    assert!(page.contains(&table), "docs/engines.md should contain:\n\n{table}");
}

fn markdown() -> String {
    let names = COLUMNS.map(|it| it.1).join(" | ");
    let head = format!("| behaviour | {names} |\n| --- |{}\n", " --- |".repeat(COLUMNS.len()));
    Behaviour::ALL.into_iter().fold(head, |text, it| {
        let cells = COLUMNS.map(|(engine, _)| cell(&it.support(engine))).join(" | ");
        text + &format!("| **{}**: {} | {cells} |\n", it.name(), it.meaning())
    })
}

fn cell(support: &Support) -> String {
    match support {
        Support::Yes => "yes".to_owned(),
        Support::Refuses { code, reason } => format!("refused, `{code}`: {reason}"),
        Support::NotSimulated(reason) => format!("not simulated: {reason}"),
    }
}
