//! The transition function, called completely: each state, trigger and set of
//! facts, against the published table.
//!
//! The expectation is read from `docs/state-machine.md`, not from the code's
//! own table, so the documented behaviour is what is checked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use colony_core::state::{Op, State};
use colony_core::transition::{Change, Facts, Guard, Reason, TABLE, Trigger, transition};

use crate::explore::Finding;

const DOCUMENT: &str = include_str!("../../../docs/state-machine.md");

/// The number of guards.
const GUARDS: u32 = 14;

/// The bit of a guard in a set of facts.
fn bit(guard: Guard) -> u16 {
    let place = match guard {
        Guard::NodeOnline => 0,
        Guard::SlotFree => 1,
        Guard::NotHeld => 2,
        Guard::WindowOpen => 3,
        Guard::NotQuarantined => 4,
        Guard::LastGoodKnown => 5,
        Guard::TriesSpent => 6,
        Guard::PolicyRollsBack => 7,
        Guard::Due => 8,
        Guard::RevisionMatches => 9,
        Guard::ForcedIfUnknown => 10,
        Guard::Undelivered => 11,
        Guard::StepOpen => 12,
        Guard::VolumesPurged => 13,
    };
    1 << place
}

/// The result of all calls.
#[derive(Debug)]
pub struct TableFindings {
    /// States × triggers × sets of facts.
    pub questions: usize,
    pub properties: Vec<Finding>,
}

impl TableFindings {
    pub fn is_sound(&self) -> bool {
        self.properties.iter().all(|it| it.holds)
    }
}

/// Calls the function for every state, trigger and set of facts.
pub fn table() -> TableFindings {
    let mut ways = Ways::default();
    let mut questions = 0;
    let published = published();
    for from in states() {
        for trigger in triggers() {
            for agreed in 0..1_u16 << GUARDS {
                questions += 1;
                ways.ask(from, trigger, agreed, &published);
            }
        }
    }
    TableFindings { questions, properties: ways.properties() }
}

fn states() -> impl Iterator<Item = Option<State>> {
    State::all().map(Some).chain([None])
}

/// Every trigger of the table; one without a row cannot change a state.
fn triggers() -> BTreeSet<Trigger> {
    TABLE.iter().map(|it| it.trigger).collect()
}

/// Facts under which exactly the guards of a set agree; records the guards that
/// were evaluated.
struct Set {
    agreed: u16,
    asked: RefCell<Vec<Guard>>,
}

impl Set {
    fn agrees(&self, guard: Guard) -> bool {
        self.agreed & bit(guard) != 0
    }
}

impl Facts for Set {
    fn check(&self, guard: Guard) -> Result<(), Reason> {
        self.asked.borrow_mut().push(guard);
        if self.agrees(guard) { Ok(()) } else { Err(Reason::UnknownNeedsForce) }
    }
}

/// A row of the document, as text.
struct Published {
    id: String,
    from: String,
    to: String,
    trigger: String,
    guards: String,
}

fn published() -> BTreeMap<String, Published> {
    let rows = DOCUMENT.lines().filter(|it| it.starts_with("| T"));
    let row = |line: &str| {
        let cells: Vec<String> = line.split('|').map(|it| it.trim().replace('`', "")).collect();
        let cell = |at: usize| cells.get(at).cloned().unwrap_or_default();
        let (id, from, to, trigger, guards) = (cell(1), cell(2), cell(3), cell(4), cell(6));
        (id.clone(), Published { id, from, to, trigger, guards })
    };
    rows.map(row).collect()
}

impl Published {
    fn tells(&self, change: &Change, trigger: Trigger) -> bool {
        self.trigger == trigger.name() && self.starts_at(change.from) && self.ends_at(change)
    }

    fn starts_at(&self, from: Option<State>) -> bool {
        let Some(from) = from else { return self.from == "–" };
        let leaving = matches!(from, State::Deleting | State::Deleted);
        if self.from.starts_with("any but") {
            return !leaving;
        }
        self.from.split(", ").any(|it| match it {
            "FAILED (not delete)" => from.name() == "FAILED" && from != State::Failed(Op::Delete),
            it => it == from.to_string() || it == from.name(),
        })
    }

    fn ends_at(&self, change: &Change) -> bool {
        let op = change.from.and_then(State::op).unwrap_or(Op::Install);
        match self.to.as_str() {
            "in-progress state of its operation" => change.to == op.in_progress_state(),
            "FAILED" => change.to == State::Failed(op),
            "UNKNOWN" => change.to == State::Unknown(op),
            text if text.starts_with("INSTALLING (nothing") => {
                let fresh = op == Op::Install;
                change.to == if fresh { State::Installing } else { State::Updating }
            }
            text => text == change.to.to_string(),
        }
    }
}

/// The transitions of the function, and the violations.
#[derive(Default)]
struct Ways {
    edges: BTreeSet<(Option<State>, Trigger, State)>,
    wrong: BTreeMap<&'static str, String>,
}

const PUBLISHED: &str = "no change that the published table does not tell";
const AGREED: &str = "a change exactly if every guard of its row agrees";
const REASONS: &str = "a refusal names every guard that disagrees";
const EXIT: &str = "every state but DELETED has an exit that needs no node";
const CANCEL: &str = "every state but DELETED can be cancelled";
const SUPERSEDE: &str = "every state but DELETED can be superseded";
const FINAL: &str = "DELETED is final";
const BEGINNING: &str = "nothing begins but by being placed";
const KEPT: &str = "FAILED and UNKNOWN keep the operation they happened in";
const DELETES: &str = "a delete never becomes UNKNOWN";
const HEALTHY: &str = "only a healthy report makes INSTALLED";
const REACH: &str = "INSTALLED and DELETED can be reached from every state but DELETED";

impl Ways {
    fn ask(
        &mut self,
        from: Option<State>,
        trigger: Trigger,
        agreed: u16,
        published: &BTreeMap<String, Published>,
    ) {
        let facts = Set { agreed, asked: RefCell::default() };
        let answer = transition(from, trigger, &facts);
        let asked = facts.asked.borrow();
        let against = asked.iter().filter(|it| !facts.agrees(**it)).count();
        let case = || format!("{from:?} on `{}`, guards {agreed:012b}", trigger.name());
        match answer {
            Ok(change) => {
                let row = published.get(change.row.id);
                self.must(PUBLISHED, row.is_some_and(|it| it.tells(&change, trigger)), case);
                let names: Vec<&str> = asked.iter().map(|it| it.name()).collect();
                let same = row.is_some_and(|it| it.guards == names.join(", "));
                self.must(AGREED, against == 0 && same, case);
                self.edges.insert((from, trigger, change.to));
            }
            Err(refusal) => {
                let row = published.values().find(|it| {
                    it.trigger == trigger.name() && it.starts_at(from) && !it.id.is_empty()
                });
                self.must(AGREED, row.is_none() || against > 0, case);
                let reasons = if row.is_some() { against } else { 1 };
                self.must(REASONS, refusal.reasons.len() == reasons, case);
            }
        }
    }

    fn must(&mut self, property: &'static str, holds: bool, case: impl FnOnce() -> String) {
        if !holds {
            self.wrong.entry(property).or_insert_with(case);
        }
    }

    fn properties(mut self) -> Vec<Finding> {
        for state in State::all() {
            self.look_at(state);
        }
        for (from, trigger, to) in self.edges.clone() {
            self.look_at_edge(from, trigger, to);
        }
        let names = [
            PUBLISHED, AGREED, REASONS, EXIT, CANCEL, SUPERSEDE, FINAL, BEGINNING, KEPT, DELETES,
            HEALTHY, REACH,
        ];
        let finding = |name: &'static str| {
            let trace = self.wrong.get(name).map(|it| format!("      {it}\n"));
            Finding { name, holds: trace.is_none(), trace }
        };
        names.into_iter().map(finding).collect()
    }

    /// Checks the transitions out of one state.
    fn look_at(&mut self, state: State) {
        let own = self.edges.iter().filter(|it| it.0 == Some(state));
        let triggers: BTreeSet<Trigger> = own.map(|it| it.1).collect();
        let any = |of: &[Trigger]| of.iter().any(|it| triggers.contains(it));
        if state == State::Deleted {
            return self.must(FINAL, triggers.is_empty(), || format!("{triggers:?}"));
        }
        let (exit, cancel) = (any(&ALONE), any(&[Trigger::Remove, Trigger::Forced]));
        let superseded = any(&[Trigger::Superseded, Trigger::Revised, Trigger::Readded])
            || (state == State::Pending && any(&[Trigger::Start]));
        let ends = [State::Installed, State::Deleted].into_iter();
        let reach = ends.clone().all(|it| self.reaches(state, it));
        self.must(EXIT, exit, || state.to_string());
        self.must(CANCEL, cancel, || state.to_string());
        self.must(SUPERSEDE, superseded, || state.to_string());
        self.must(REACH, reach, || state.to_string());
    }

    fn reaches(&self, from: State, to: State) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(state) = open.pop() {
            let next = self.edges.iter().filter(|it| it.0 == Some(state)).map(|it| it.2);
            open.extend(next.filter(|it| seen.insert(*it)));
        }
        seen.contains(&to)
    }

    fn look_at_edge(&mut self, from: Option<State>, trigger: Trigger, to: State) {
        let case = || format!("{from:?} on `{}` to {to}", trigger.name());
        let op = from.and_then(State::op);
        let kept = match to {
            State::Failed(it) | State::Unknown(it) => op.is_none_or(|op| op == it),
            State::Pending
            | State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Deleting
            | State::Deleted => true,
        };
        self.must(KEPT, kept, case);
        self.must(DELETES, to != State::Unknown(Op::Delete), case);
        self.must(HEALTHY, to != State::Installed || trigger == Trigger::Healthy, case);
        self.must(BEGINNING, from.is_some() || trigger == Trigger::Placed, case);
    }
}

/// The triggers of the orchestrator that need no report of the node.
const ALONE: [Trigger; 10] = [
    Trigger::Start,
    Trigger::Deadline,
    Trigger::Superseded,
    Trigger::Revised,
    Trigger::Rollback,
    Trigger::Retry,
    Trigger::Remove,
    Trigger::NeverDelivered,
    Trigger::Forced,
    Trigger::Readded,
];
