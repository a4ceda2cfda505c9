//! Every input that is kept goes through its target, and a little beyond it.

use std::collections::BTreeSet;

use colony_fuzz::{Corpus, Plan, all, folder, run};

/// Inputs beyond the corpus, per target: enough to notice a target that broke.
const FEW: u64 = 60;

#[test]
fn every_corpus_file_holds() {
    for target in all() {
        let corpus = Corpus::read(&folder(), target.name).expect("a corpus");
        let plan = Plan { runs: corpus.len() as u64 + FEW, seed: 1 };
        let ran = run(&target, &corpus, &plan, None, &mut |_| {});
        assert_eq!(ran.findings, [], "{}", target.name);
        assert_eq!(ran.runs, plan.runs, "{}", target.name);
    }
}

#[test]
fn every_folder_has_a_target_and_names_are_unique() {
    let names: BTreeSet<&str> = all().iter().map(|it| it.name).collect();
    assert_eq!(names.len(), all().len());
    let folders = std::fs::read_dir(folder()).expect("the corpus");
    let folders: BTreeSet<String> = folders
        .map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(folders, names.iter().map(|it| (*it).to_owned()).collect());
}

#[test]
fn the_document_lists_every_target() {
    let path = folder().join("../../../docs/fuzzing.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let rows = text.lines().filter(|it| it.starts_with("| `"));
    let cells = rows.filter_map(|it| it.split('|').nth(1));
    let listed: BTreeSet<&str> = cells.flat_map(|it| it.split('`').skip(1).step_by(2)).collect();
    assert_eq!(listed, all().iter().map(|it| it.name).collect());
}

#[test]
fn the_same_seed_makes_the_same_inputs() {
    let target = all().into_iter().find(|it| it.name == "margo_text").expect("a target");
    let corpus = Corpus::read(&folder(), target.name).expect("a corpus");
    let inputs = |seed| {
        let mut seen = Vec::new();
        let plan = Plan { runs: 200, seed };
        run(&target, &corpus, &plan, None, &mut |it| seen.push(it.to_vec()));
        seen
    };
    assert_eq!(inputs(3), inputs(3));
    assert_ne!(inputs(3), inputs(4));
}
