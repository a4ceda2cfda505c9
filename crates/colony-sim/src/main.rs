//! `colony-sim`: tells stories of fleets and stops at the first that ends badly.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use colony_sim::{Coverage, Options, Report, Violation, run};

const USAGE: &str = "\
Simulates fleets with faults and checks what must always hold.

usage: colony-sim [--seeds COUNT] [--from SEED]    run COUNT stories (200), starting with SEED (1)
       colony-sim --seed SEED                      replay one story and print its trace
";

/// What the command line asks for.
struct Order {
    from: u64,
    count: u64,
    replay: bool,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
fn main() -> ExitCode {
    let order = match order(std::env::args().skip(1)) {
        Ok(Some(order)) => order,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(mistake) => {
            eprint!("colony-sim: {mistake}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match tell(&order) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("{}", describe(&violation));
            ExitCode::FAILURE
        }
    }
}

/// What to do, `None` for help, or what is wrong with the arguments.
fn order(arguments: impl Iterator<Item = String>) -> Result<Option<Order>, String> {
    let mut order = Order { from: 1, count: 200, replay: false };
    let mut arguments = arguments;
    while let Some(flag) = arguments.next() {
        if matches!(flag.as_str(), "-h" | "--help") {
            return Ok(None);
        }
        let value = arguments.next().unwrap_or_default();
        let number = value.parse::<u64>().ok().filter(|it| (1..=u64::from(u32::MAX)).contains(it));
        let number = number.ok_or(format!("`{flag} {value}`: a number from 1 is needed"));
        match flag.as_str() {
            "--seeds" => order.count = number?,
            "--from" => order.from = number?,
            "--seed" => (order.from, order.count, order.replay) = (number?, 1, true),
            _ => return Err(format!("`{flag}` is not known")),
        }
    }
    Ok(Some(order))
}

/// Tells the stories on all cores; the first seed that ends badly is reported.
fn tell(order: &Order) -> Result<String, Box<Violation>> {
    let options = Options { trace: order.replay };
    let next = AtomicU64::new(order.from);
    let end = order.from + order.count;
    let stop = AtomicBool::new(false);
    let worker = || {
        let mut told = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let result = run(seed, options);
            stop.fetch_or(result.is_err(), Ordering::Relaxed);
            told.push(result);
        }
        told
    };
    let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
    let told: Vec<Result<Report, Box<Violation>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|it| it.join().expect("a worker panicked")).collect()
    });
    let reports: Vec<Report> = told.into_iter().collect::<Result<_, _>>()?;
    Ok(summary(&reports, order.replay))
}

fn summary(reports: &[Report], replay: bool) -> String {
    let mut coverage = Coverage::default();
    reports.iter().for_each(|it| coverage.add(&it.coverage));
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let slowest = reports.iter().map(|it| it.converged_after).max().unwrap_or(0);
    let trace = if replay { reports[0].trace.join("\n") + "\n" } else { String::new() };
    format!(
        "{trace}{} stories, {} steps, {} faults, {} events; slowest convergence {slowest} s (virtual)\n{}",
        reports.len(),
        sum(|it| it.steps),
        sum(|it| it.faults),
        sum(|it| it.events),
        coverage.summary()
    )
}

fn describe(violation: &Violation) -> String {
    let Violation { seed, what, trace } = violation;
    format!(
        "{}\n\nstory {seed} ends badly: {what}\nreplay it: cargo run --release -p colony-sim -- --seed {seed}",
        trace.join("\n")
    )
}
