//! `colony-model`: checks the transition function completely and explores
//! bounded worlds; reports the first violated rule with the path to it.

use std::process::ExitCode;

use colony_model::{Bounds, Finding, Flaw, Plan, explore, plans, table};

const USAGE: &str = "\
Walks through small fleets in breadth, as far as a bound goes, and checks what must always hold.

usage: colony-model [--quick] [--world NAME] [BOUND...]

  --quick         smaller bounds: half a minute
  --world NAME    only the worlds whose name contains NAME
  --flaw NAME     with a mistake in a shell: `acks-first`, `empty-seed`, `takes-staged`
  --deaths N, --doubles N, --kills N, --passes N, --room N, --far N, --steps N, --sample N
                  other bounds than the world's own
";

/// The parsed command line.
#[derive(Default)]
struct Order {
    quick: bool,
    world: String,
    flaw: Option<Flaw>,
    bounds: Vec<(String, usize)>,
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
            eprint!("colony-model: {mistake}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let asked = table();
    println!("transition function: {} questions", asked.questions);
    tell(&asked.properties);
    let mut sound = asked.is_sound();
    let chosen = plans(order.quick).into_iter().filter(|it| it.name.contains(&order.world));
    for plan in chosen.map(|it| it.bounded(|bounds| order.bound(bounds))) {
        sound &= walk(plan.with(order.flaw.unwrap_or(Flaw::None)), order.flaw.is_some());
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Explores one world on all cores; on one core to find the shortest path.
#[expect(clippy::print_stdout, reason = "a command-line program")]
fn walk(plan: Plan, shortest: bool) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
    let found = explore(plan, if shortest { 1 } else { cores });
    let seconds = found.took.as_secs_f64();
    println!("\n{}: {}", found.world, found.about);
    let end = if found.cut {
        format!("cut off at {} steps", found.steps)
    } else {
        "exhausted".to_owned()
    };
    println!("  {} states, depth {}, {end}, {seconds:.1} s", found.states, found.depth);
    tell(&found.properties);
    found.is_sound()
}

#[expect(clippy::print_stdout, reason = "a command-line program")]
fn tell(properties: &[Finding]) {
    for it in properties {
        println!("  {}  {}", if it.holds { "ok    " } else { "BROKEN" }, it.name);
        if let Some(trace) = &it.trace {
            print!("\n{trace}\n");
        }
    }
}

/// Parses the command line: `None` for help, or an error.
fn order(arguments: impl Iterator<Item = String>) -> Result<Option<Order>, String> {
    let mut order = Order::default();
    let mut arguments = arguments;
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(None),
            "--quick" => order.quick = true,
            "--flaw" => order.flaw = Some(flaw(&arguments.next().unwrap_or_default())?),
            "--world" => order.world = arguments.next().unwrap_or_default(),
            "--deaths" | "--doubles" | "--kills" | "--passes" | "--room" | "--far" | "--steps"
            | "--sample" => {
                let value = arguments.next().unwrap_or_default();
                let number =
                    value.parse().map_err(|_| format!("`{flag} {value}`: a number is needed"))?;
                order.bounds.push((flag, number));
            }
            _ => return Err(format!("`{flag}` is not known")),
        }
    }
    check_world(&order.world)?;
    Ok(Some(order))
}

/// A name that matches no world would check nothing and pass.
fn check_world(world: &str) -> Result<(), String> {
    let names: Vec<&str> = plans(false).iter().map(|it| it.name).collect();
    if names.iter().any(|it| it.contains(world)) {
        return Ok(());
    }
    Err(format!("`--world {world}`: there is none; there are {}", names.join(", ")))
}

fn flaw(name: &str) -> Result<Flaw, String> {
    match name {
        "acks-first" => Ok(Flaw::AcksFirst),
        "empty-seed" => Ok(Flaw::EmptySeed),
        "takes-staged" => Ok(Flaw::TakesStaged),
        _ => Err(format!("`--flaw {name}`: `acks-first`, `empty-seed` or `takes-staged`")),
    }
}

impl Order {
    fn bound(&self, bounds: &mut Bounds) {
        for (flag, value) in &self.bounds {
            let few = u8::try_from(*value).unwrap_or(u8::MAX);
            match flag.as_str() {
                "--deaths" => bounds.deaths = few,
                "--doubles" => bounds.doubles = few,
                "--kills" => bounds.kills = few,
                "--passes" => bounds.passes = few,
                "--far" => bounds.far = (*value).max(1),
                "--steps" => bounds.steps = (*value).max(1),
                "--sample" => bounds.sample = u64::from(few.max(1)),
                _ => bounds.room = (*value).max(1),
            }
        }
    }
}
