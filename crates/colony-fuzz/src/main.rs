//! `cargo run --release -p colony-fuzz -- [--runs N] [--seed N] [--input FILE] [target…]`
//!
//! Prints a table, one line per target, and ends with 1 if something was
//! found; what was found is kept in a file and shown.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod arguments;
mod show;
mod watchman;

use std::process::ExitCode;

use colony_fuzz::{Corpus, Plan, Ran, Target, folder, run};
use peak_alloc::PeakAlloc;

use arguments::Arguments;
use watchman::Watchman;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            println!("colony-fuzz: {error}");
            return ExitCode::from(2);
        }
    };
    let watchman = Watchman::start();
    println!("{}", show::HEAD);
    let mut broken = 0;
    for target in &arguments.targets {
        let ran = match hunt(target, &arguments, &watchman) {
            Ok(ran) => ran,
            Err(error) => {
                println!("colony-fuzz: could not read the corpus of {}: {error}", target.name);
                return ExitCode::from(2);
            }
        };
        println!("{}", show::line(&ran));
        ran.findings.iter().for_each(|it| println!("{}", show::finding(&ran, it)));
        broken += ran.findings.len();
    }
    ExitCode::from(u8::from(broken > 0))
}

fn hunt(target: &Target, arguments: &Arguments, watchman: &Watchman) -> std::io::Result<Ran> {
    let corpus = match &arguments.input {
        Some(path) => Corpus { files: vec![(path.clone(), std::fs::read(path)?)] },
        None => Corpus::read(&folder(), target.name)?,
    };
    let runs = if arguments.input.is_some() { 1 } else { arguments.runs };
    let plan = Plan { runs, seed: arguments.seed };
    let mut begin = |input: &[u8]| watchman.begin(target.name, input);
    let ran = run(target, &corpus, &plan, Some(&MEMORY), &mut begin);
    watchman.rest();
    Ok(ran)
}
