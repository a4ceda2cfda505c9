//! Explores a world and describes the findings.

use std::fmt::Write;
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model, Path, Property};

use crate::model::Bounded;
use crate::plan::Plan;
use crate::world::World;
use crate::world::act::Act;

/// The result of exploring a world.
#[derive(Debug)]
pub struct Findings {
    pub world: &'static str,
    pub about: &'static str,
    pub states: usize,
    pub depth: usize,
    /// Steps that were tried.
    pub steps: usize,
    /// Exploring was cut off: deeper states were not checked.
    pub cut: bool,
    pub took: Duration,
    pub properties: Vec<Finding>,
}

/// A property and its result.
#[derive(Debug)]
pub struct Finding {
    pub name: &'static str,
    pub holds: bool,
    /// The path to the state that violates it.
    pub trace: Option<String>,
}

impl Findings {
    pub fn is_sound(&self) -> bool {
        self.properties.iter().all(|it| it.holds)
    }
}

/// Explores a world breadth-first from every state of its plain stories, until
/// a property is violated or the bound is reached.
#[expect(clippy::disallowed_methods, reason = "the elapsed time is shown to people")]
pub fn explore(plan: Plan, threads: usize) -> Findings {
    let begun = Instant::now();
    let (world, about, limit) = (plan.name, plan.about, plan.bounds.steps);
    let checker = Bounded::new(plan).checker().threads(threads).target_state_count(limit);
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let mut found = checker.discoveries();
    let failed = |it: &Property<Bounded>| {
        it.expectation != Expectation::Sometimes && found.contains_key(it.name)
    };
    let broken = checker.model().properties().iter().any(failed);
    let cut = broken || checker.state_count() >= limit;
    let properties = checker.model().properties().into_iter().map(|property| {
        let path = found.remove(property.name);
        let holds = match property.expectation {
            Expectation::Always | Expectation::Eventually => path.is_none(),
            Expectation::Sometimes => path.is_some() || broken,
        };
        let trace = path.filter(|_| !holds).map(|it| trace(checker.model(), it, property.name));
        Finding { name: property.name, holds, trace }
    });
    let properties = properties.collect();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    let steps = checker.state_count();
    Findings { world, about, states, depth, steps, cut, took: begun.elapsed(), properties }
}

/// A path as numbered lines, from the beginning of its plain story.
fn trace(model: &Bounded, path: Path<World, Act>, property: &str) -> String {
    let mut text = String::new();
    let states = path.into_states();
    let mut number = 0;
    let plain = states.first().map(|it| model.way_to(it)).unwrap_or_default();
    for world in plain.iter().chain(states.iter().skip(1)) {
        number += 1;
        line(&mut text, number, &world.said);
        if number == plain.len() && states.len() > 1 {
            let _ = writeln!(text, "      so far nothing has gone wrong");
        }
    }
    if let Some(last) = states.last().filter(|it| it.broken.is_none()) {
        let mut world = last.clone();
        world.said.clear();
        let verdict = world.calm_down();
        let _ = writeln!(text, "      the faults stop, and all that is under way is lost");
        number += 1;
        line(&mut text, number, &world.said);
        let what = verdict.err().map(|it| it.1).unwrap_or_default();
        let _ = writeln!(text, "      BROKEN: {property}: {what}");
    }
    text
}

/// The first line of an act is numbered, its consequences follow below.
fn line(text: &mut String, number: usize, said: &[String]) {
    for (index, what) in said.iter().enumerate() {
        let _ = match index {
            0 => writeln!(text, "{number:>4}  {what}"),
            _ => writeln!(text, "      {what}"),
        };
    }
}
