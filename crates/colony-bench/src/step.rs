//! One input among many placements: what the fleet's size costs a step.

use std::time::Duration;

use colony_core::event::HoldScope;
use colony_core::site::{Action, Command, Commit, Have, Input, Row, Site, Step};
use colony_core::time::Now;
use colony_testkit::{Plant, commit_id};

use crate::Scale;
use crate::clock::{median, timed};
use crate::fleet::{installed, settled, spread, under_way, updating};
use crate::table::{Table, ratio, time};

/// A site of so many placements, before and after it was installed.
struct Pair {
    busy: Plant,
    calm: Plant,
}

type Measure = fn(&Pair, usize) -> Duration;

const INPUTS: [(&str, Measure); 6] = [
    ("status that ends an attempt", status),
    ("status that ends an attempt, and its rows", rows),
    ("status that changes nothing", repetition),
    ("heartbeat", heartbeat),
    ("hold on a deployment", hold),
    ("commit that changes one deployment", commit),
];

/// The site grows, the selected deployment does not.
pub(crate) fn fleet(scale: &Scale) -> Table {
    let mut table = table("Site core: one step in a site of N placements", &scale.placements);
    let pair = |it: &usize| Pair { busy: under_way(*it), calm: settled(*it) };
    let sites: Vec<Pair> = scale.placements.iter().map(pair).collect();
    for (name, measure) in INPUTS {
        let times: Vec<Duration> = sites.iter().map(|it| measure(it, scale.samples)).collect();
        row(&mut table, name, &times);
    }
    table
}

/// The selected deployment grows.
pub(crate) fn wide(scale: &Scale) -> Table {
    let mut table = table("Site core: one step in a deployment of N placements", &scale.wide);
    let times: Vec<Duration> = scale.wide.iter().map(|it| rolling(*it)).collect();
    row(&mut table, "status in the middle of a rolling update", &times);
    table
}

fn table(title: &str, sizes: &[usize]) -> Table {
    let sizes: Vec<String> = sizes.iter().map(|it| format!("N = {it}")).collect();
    let head = ["input"].into_iter().chain(sizes.iter().map(String::as_str));
    Table::new(title, &head.collect::<Vec<_>>())
}

/// Each time with its ratio to the first column.
fn row(table: &mut Table, name: &str, times: &[Duration]) {
    let first = times.first().copied().unwrap_or_default();
    let cells = times.iter().map(|it| format!("{} ({})", time(*it), ratio(*it, first)));
    table.row([name.to_owned()].into_iter().chain(cells));
}

fn status(pair: &Pair, samples: usize) -> Duration {
    let inputs = reports(&pair.busy, samples);
    steps(&pair.busy, inputs, |_, _| {})
}

fn rows(pair: &Pair, samples: usize) -> Duration {
    let inputs = reports(&pair.busy, samples);
    steps(&pair.busy, inputs, |site, step| {
        let rows: Vec<Option<Row>> = step.changed.keys().map(|it| site.row(&it)).collect();
        std::hint::black_box(serde_json::to_vec(&rows).unwrap_or_default());
    })
}

fn repetition(pair: &Pair, samples: usize) -> Duration {
    let inputs = reports(&pair.calm, samples);
    steps(&pair.calm, inputs, |_, _| {})
}

fn reports(plant: &Plant, samples: usize) -> Vec<Input> {
    spread(&plant.site, samples).iter().map(|it| installed(&plant.site, it)).collect()
}

fn heartbeat(pair: &Pair, samples: usize) -> Duration {
    let site = &pair.calm.site;
    let inputs = spread(site, samples).into_iter().map(|it| {
        let version = site.site_node(&it.node).map_or(1, |it| it.version());
        Input::Heard { node: it.node, have: Some(Have { version, etag: None }) }
    });
    steps(&pair.calm, inputs.collect(), |_, _| {})
}

fn hold(pair: &Pair, samples: usize) -> Duration {
    let inputs = spread(&pair.calm.site, samples).into_iter().map(|it| {
        let scope = HoldScope::Deployment(it.deployment);
        let action = Action::Hold { scope, note: "a look".to_owned() };
        Input::Command(Command { number: None, by: "ana".to_owned(), expires: None, action })
    });
    steps(&pair.calm, inputs.collect(), |_, _| {})
}

fn commit(pair: &Pair, samples: usize) -> Duration {
    let count = pair.calm.site.deployments().count();
    let stride = (count / samples).max(1);
    let mut base = pair.calm.site.git().cloned();
    let inputs = (0..count).step_by(stride).take(samples).map(|index| {
        let revision = commit_id(1_000_000 + index as u64);
        let files = vec![crate::fleet::file(index, "2.0.0")];
        let base = base.replace(revision.clone());
        Input::Commit(Commit { revision, base, rewritten: false, files })
    });
    let inputs = inputs.collect();
    steps(&pair.calm, inputs, |_, _| {})
}

/// Every report lets the next node begin.
fn rolling(placements: usize) -> Duration {
    let plant = updating(placements);
    let (mut site, now) = (plant.site.clone(), plant.now);
    let samples = (0..placements / 2).map(|_| {
        let busy = site.placements().find(|it| it.state().is_in_progress());
        let input = installed(&site, &busy.expect("a node is updated").id);
        let (time, step) = timed(|| site.step(input, now));
        assert!(step.events.len() > 1, "the next node begins");
        time
    });
    median(samples.collect())
}

/// The median time of one of `inputs`, with what the caller does about it.
fn steps(plant: &Plant, inputs: Vec<Input>, after: impl Fn(&Site, &Step)) -> Duration {
    let (mut site, now): (Site, Now) = (plant.site.clone(), plant.now);
    let samples = inputs.into_iter().map(|input| {
        let (time, refused) = timed(|| {
            let step = site.step(input, now);
            after(&site, &step);
            step.refused
        });
        assert_eq!(refused, None, "the input is taken");
        time
    });
    median(samples.collect())
}
