//! Stories can be told again, and a bad one says how.

use std::process::Command;

use colony_sim::{Options, REGRESSIONS, run};

#[test]
fn a_seed_tells_the_same_story_each_time() {
    let tell = || run(7, Options { trace: true }).expect("a story that ends well");
    let (first, second) = (tell(), tell());
    assert_eq!(first.trace, second.trace);
    assert_eq!((first.steps, first.events), (second.steps, second.events));
    assert!(first.faults > 0 && first.events > 0, "nothing happened");
}

#[test]
fn stories_that_once_ended_badly_end_well() {
    for it in REGRESSIONS {
        let told = run(it.seed, Options::default());
        assert!(told.is_ok(), "seed {} ({}): {told:?}", it.seed, it.bug);
    }
}

#[test]
fn the_program_counts_what_it_told() {
    let output = sim(&["--seeds", "2", "--from", "7"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("2 stories, "), "{text}");
}

#[test]
fn wrong_arguments_are_answered_with_the_usage() {
    for (arguments, mistake) in [
        (["--seeds", "many"], "`--seeds many`: a number from 1 is needed"),
        (["--seeds", "0"], "`--seeds 0`: a number from 1 is needed"),
        (["--sedes", "7"], "`--sedes` is not known"),
    ] {
        let output = sim(&arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(text.contains(mistake) && text.contains("usage: colony-sim"), "{text}");
    }
}

fn sim(arguments: &[&str]) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_colony-sim");
    Command::new(program).args(arguments).output().expect("the simulator starts")
}
