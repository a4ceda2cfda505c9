//! `colony-model`: asks the transition function everything and explores bounded
//! worlds; the first rule that is broken is told with the way to it.

use std::process::ExitCode;

use colony_model::{Bounds, Finding, Plan, explore, plans, table};

const USAGE: &str = "\
Explores every interleaving of small fleets and checks what must always hold.

usage: colony-model [--quick] [--world NAME] [BOUND...]

  --quick         smaller bounds: under 20 s
  --world NAME    only the worlds whose name contains NAME
  --deaths N, --doubles N, --kills N, --passes N, --room N
                  other bounds than the world's own
";

/// What the command line asks for.
#[derive(Default)]
struct Order {
    quick: bool,
    world: String,
    bounds: Vec<(String, u8)>,
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
        sound &= walk(plan);
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Explores one world on all cores.
#[expect(clippy::print_stdout, reason = "a command-line program")]
fn walk(plan: Plan) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
    let found = explore(plan, cores);
    let seconds = found.took.as_secs_f64();
    println!("\n{}: {}", found.world, found.about);
    println!("  {} states, depth {}, {seconds:.1} s", found.states, found.depth);
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

/// What to do, `None` for help, or what is wrong with the arguments.
fn order(arguments: impl Iterator<Item = String>) -> Result<Option<Order>, String> {
    let mut order = Order::default();
    let mut arguments = arguments;
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(None),
            "--quick" => order.quick = true,
            "--world" => order.world = arguments.next().unwrap_or_default(),
            "--deaths" | "--doubles" | "--kills" | "--passes" | "--room" => {
                let value = arguments.next().unwrap_or_default();
                let number = value.parse().map_err(|_| format!("`{flag} {value}`: 0 to 255"))?;
                order.bounds.push((flag, number));
            }
            _ => return Err(format!("`{flag}` is not known")),
        }
    }
    Ok(Some(order))
}

impl Order {
    fn bound(&self, bounds: &mut Bounds) {
        for (flag, value) in &self.bounds {
            match flag.as_str() {
                "--deaths" => bounds.deaths = *value,
                "--doubles" => bounds.doubles = *value,
                "--kills" => bounds.kills = *value,
                "--passes" => bounds.passes = *value,
                _ => bounds.room = usize::from((*value).max(1)),
            }
        }
    }
}
