//! A world for the model checker: states, acts, properties.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use stateright::{Model, Property};

use crate::check::Rule;
use crate::check::calm::Memo;
use crate::plan::Plan;
use crate::story::People;
use crate::world::World;
use crate::world::act::Act;

/// A bounded world, with the results so far.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// The plain stories, by the behaviour of operators.
    stories: [Vec<World>; 3],
    /// States that are known to converge.
    memo: Memo,
    /// Rules with a known counter-example: the first is the shortest.
    found: Mutex<BTreeSet<Rule>>,
    /// States that violate a rule when the faults stop there.
    late: Mutex<BTreeMap<u64, Rule>>,
}

impl Bounded {
    pub(crate) fn new(plan: Plan) -> Bounded {
        let start = World::new(Arc::new(plan));
        let stories = [People::Hasty, People::Patient, People::Meddling].map(|it| start.tell(it));
        let (found, late) = (Mutex::default(), Mutex::default());
        Bounded { stories, memo: Memo::default(), found, late }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.stories[0][0].plan
    }

    /// The states of a plain story before exploring began at `world`.
    pub(crate) fn way_to(&self, world: &World) -> &[World] {
        let found = self.stories.iter().find_map(|story| {
            let at = story.iter().position(|it| it == world)?;
            Some(&story[1..=at])
        });
        found.unwrap_or_default()
    }

    fn holds(&self, world: &World, rule: Rule) -> bool {
        let broken = world.broken.as_ref().is_some_and(|it| it.rule == rule);
        let late = || self.late.lock().is_ok_and(|it| it.get(&world.print) == Some(&rule));
        !(broken || late()) || !self.is_first(rule)
    }

    /// Stops the faults here and checks that the world converges. Another rule
    /// violated on the way is reported under its own name, so this is checked
    /// first.
    fn converges(&self, world: &World) -> bool {
        let spared = !world.standing().is_multiple_of(self.plan().bounds.sample);
        if spared || world.broken.is_some() {
            return true;
        }
        let Err((rule, _)) = world.clone().converge(&self.memo) else { return true };
        if rule == Rule::Converges {
            return !self.is_first(rule);
        }
        if let Ok(mut late) = self.late.lock() {
            late.insert(world.print, rule);
        }
        true
    }

    fn is_first(&self, rule: Rule) -> bool {
        self.found.lock().is_ok_and(|mut it| it.insert(rule))
    }
}

macro_rules! rules {
    ($($rule:ident)*) => {
        vec![$(Property::always(Rule::$rule.name(), |model: &Bounded, world: &World| {
            model.holds(world, Rule::$rule)
        }),)*]
    };
}

impl Model for Bounded {
    type State = World;
    type Action = Act;

    /// The checker explores the last state first, so the list ends with the
    /// beginning of a story.
    fn init_states(&self) -> Vec<World> {
        let mut known = BTreeSet::new();
        let all = self.stories.iter().flatten().filter(|it| known.insert(it.print));
        let mut all: Vec<World> = all.cloned().collect();
        all.reverse();
        all
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        world.choices(acts);
    }

    /// An act that changes nothing is not a step.
    fn next_state(&self, world: &World, act: Act) -> Option<World> {
        let mut next = world.clone();
        next.happen(&act);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Bounded>> {
        let converges = |model: &Bounded, world: &World| model.converges(world);
        let mut all = vec![Property::always(Rule::Converges.name(), converges)];
        all.extend(rules! {
            Table Log Versions Content Limit Quarantine Central Acknowledged Belief Restart
            Removal Deleted Why Seed Step Swap Abort
        });
        all.extend(self.goals());
        all
    }
}

impl Bounded {
    /// The goals that the world must be able to reach; otherwise it proves
    /// nothing.
    fn goals(&self) -> Vec<Property<Bounded>> {
        let goals = self.plan().goals;
        const GOALS: [fn(&Bounded, &World) -> bool; 4] = [
            |_, world| reached(world, 0),
            |_, world| reached(world, 1),
            |_, world| reached(world, 2),
            |_, world| reached(world, 3),
        ];
        goals.iter().zip(GOALS).map(|(it, reached)| Property::sometimes(it.name, reached)).collect()
    }
}

fn reached(world: &World, goal: usize) -> bool {
    world.plan.goals.get(goal).is_some_and(|it| (it.reached)(world))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::worlds::{centre, plans};

    #[test]
    fn states_that_count_as_one_go_on_alike() {
        plans(true).into_iter().for_each(|it| check(it, 8));
        check(centre(), 30);
    }

    /// Walks until `limit` states were reached a second time: their successors
    /// must be the same as the first time.
    #[track_caller]
    fn check(plan: Plan, limit: usize) {
        let model = Bounded::new(plan);
        let mut known: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut open = VecDeque::from(model.init_states());
        let mut again = 0;
        while let Some(world) = open.pop_front().filter(|_| again < limit) {
            let next = model.next_states(&world);
            let prints: Vec<u64> = next.iter().map(|it| it.print).collect();
            match known.get(&world.print) {
                Some(before) => {
                    again += 1;
                    assert_eq!(*before, prints, "{}: {world:?}", model.plan().name);
                }
                None => {
                    known.insert(world.print, prints);
                    open.extend(next);
                }
            }
        }
    }
}
