//! `colony-sim`: runs stories of fleets and stops at the first violation.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use colony_sim::{Coverage, Options, Report, Violation, run};

const USAGE: &str = "\
Simulates fleets with faults and checks what must always hold.

usage: colony-sim [--seeds COUNT] [--from SEED] [--require-coverage] [--keep-going]
           run COUNT stories (200), starting with SEED (1), and print what they met;
           fail if they leave something out of the published tables;
           list all that end badly instead of telling the first
       colony-sim --seed SEED
           replay one story and print its trace
";

/// The parsed command line.
struct Order {
    from: u64,
    count: u64,
    replay: bool,
    require_coverage: bool,
    keep_going: bool,
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
        Ok((summary, complete)) => {
            println!("{summary}");
            if order.require_coverage && !complete {
                println!("not everything was met: more stories, or better ones, are needed");
                return ExitCode::FAILURE;
            }
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("{}", describe(&violation));
            ExitCode::FAILURE
        }
    }
}

/// Parses the command line: `None` for help, or an error.
fn order(arguments: impl Iterator<Item = String>) -> Result<Option<Order>, String> {
    let mut order =
        Order { from: 1, count: 200, replay: false, require_coverage: false, keep_going: false };
    let mut arguments = arguments;
    while let Some(flag) = arguments.next() {
        if matches!(flag.as_str(), "-h" | "--help") {
            return Ok(None);
        }
        match flag.as_str() {
            "--require-coverage" => order.require_coverage = true,
            "--keep-going" => order.keep_going = true,
            _ => valued(&mut order, &flag, &arguments.next().unwrap_or_default())?,
        }
    }
    Ok(Some(order))
}

/// Parses a flag that has a value.
fn valued(order: &mut Order, flag: &str, value: &str) -> Result<(), String> {
    let number = value.parse::<u64>().ok().filter(|it| (1..=u64::from(u32::MAX)).contains(it));
    let number = number.ok_or(format!("`{flag} {value}`: a number from 1 is needed"));
    match flag {
        "--seeds" => order.count = number?,
        "--from" => order.from = number?,
        "--seed" => (order.from, order.count, order.replay) = (number?, 1, true),
        _ => return Err(format!("`{flag}` is not known")),
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a command-line program")]
/// Runs the stories on all cores; reports the first seed with a violation.
fn tell(order: &Order) -> Result<(String, bool), Box<Violation>> {
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
            stop.fetch_or(result.is_err() && !order.keep_going, Ordering::Relaxed);
            told.push(result);
        }
        told
    };
    let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
    let told: Vec<Result<Report, Box<Violation>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|it| it.join().expect("a worker panicked")).collect()
    });
    let (reports, bad) = sorted(told);
    if order.keep_going && !bad.is_empty() {
        bad.iter().for_each(|it| println!("story {} ends badly: {}", it.seed, it.what));
        println!("{}", summary(&reports, false).0);
    }
    match bad.into_iter().next() {
        Some(first) => Err(Box::new(first)),
        None => Ok(summary(&reports, order.replay)),
    }
}

/// Separates the stories that passed from those with a violation.
fn sorted(told: Vec<Result<Report, Box<Violation>>>) -> (Vec<Report>, Vec<Violation>) {
    let (mut well, mut badly) = (Vec::new(), Vec::new());
    for it in told {
        match it {
            Ok(report) => well.push(report),
            Err(violation) => badly.push(*violation),
        }
    }
    (well, badly)
}

/// The summary of the stories, and whether they covered all tables.
fn summary(reports: &[Report], replay: bool) -> (String, bool) {
    let mut coverage = Coverage::default();
    reports.iter().for_each(|it| coverage.add(&it.coverage));
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let slowest = reports.iter().map(|it| it.converged_after).max().unwrap_or(0);
    let trace = if replay { reports[0].trace.join("\n") + "\n" } else { String::new() };
    let text = format!(
        "{trace}{} stories, {} steps, {} faults, {} events; slowest convergence {slowest} s (virtual)\n{}",
        reports.len(),
        sum(|it| it.steps),
        sum(|it| it.faults),
        sum(|it| it.events),
        if replay { String::new() } else { coverage.summary() }
    );
    (text, coverage.missed().is_empty())
}

fn describe(violation: &Violation) -> String {
    let Violation { seed, what, trace } = violation;
    format!(
        "{}\n\nstory {seed} ends badly: {what}\nreplay it: cargo run --release -p colony-sim -- --seed {seed}",
        trace.join("\n")
    )
}
