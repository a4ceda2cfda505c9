//! Decides whether a device meets constraints.
//!
//! `Exists` and `DoesNotExist` apply to any value. The comparing operators
//! apply to texts, numbers, booleans and lists of these; for any other value,
//! also a list of objects, they are false.

use super::{Capacity, Cpu, DeviceConstraints, Expression, Mismatch, Operator, Rule, Selector};
use crate::Json;
use crate::capability::{self, Capabilities};
use crate::value::quantity::Quantity;

impl DeviceConstraints {
    /// Whether the device has the capacity and is eligible; if not, why not.
    pub fn evaluate(&self, device: &Capabilities) -> Result<(), Vec<Mismatch>> {
        let capacity = self.capacity.iter().flat_map(|it| it.mismatches(device));
        let mut mismatches: Vec<Mismatch> = capacity.collect();
        mismatches.extend(self.eligible(device).err().into_iter().flatten());
        if mismatches.is_empty() { Ok(()) } else { Err(mismatches) }
    }

    /// The missing capacity for running two instances side by side. Storage is
    /// not counted: both use the same data.
    pub fn lacks_for_two(&self, device: &Capabilities) -> Vec<Mismatch> {
        let double = self.capacity.iter().map(Capacity::doubled);
        double.flat_map(|it| it.mismatches(device)).collect()
    }

    /// Whether one of the rules holds; if not, the failures of each.
    pub fn eligible(&self, device: &Capabilities) -> Result<(), Vec<Mismatch>> {
        let failed: Vec<Vec<String>> = self.rules.iter().map(|it| it.failures(device)).collect();
        if failed.is_empty() || failed.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let rule = |(index, failures)| Mismatch::Rule { number: index + 1, failures };
        Err(failed.into_iter().enumerate().map(rule).collect())
    }
}

impl Capacity {
    fn doubled(&self) -> Capacity {
        let cpu = self.cpu.clone().map(|it| Cpu { cores: it.cores.doubled(), ..it });
        let memory = self.memory.map(|it| {
            Quantity::from_bytes(u64::try_from(it.bytes().saturating_mul(2)).unwrap_or(u64::MAX))
        });
        Capacity { cpu, memory, storage: None }
    }

    fn mismatches(&self, device: &Capabilities) -> Vec<Mismatch> {
        let has = device.properties();
        let cpu = self.cpu.as_ref().filter(|it| !has.cpus.iter().any(|cpu| it.fits(cpu)));
        let memory = self.memory.filter(|it| has.memory.is_none_or(|has| has.bytes() < it.bytes()));
        let storage =
            self.storage.filter(|it| has.storage.is_none_or(|has| has.bytes() < it.bytes()));
        let cpu = cpu.map(|it| Mismatch::Cpu { needs: it.clone(), has: has.cpus.clone() });
        let memory = memory.map(|needs| Mismatch::Memory { needs, has: has.memory });
        let storage = storage.map(|needs| Mismatch::Storage { needs, has: has.storage });
        cpu.into_iter().chain(memory).chain(storage).collect()
    }
}

impl Cpu {
    fn fits(&self, cpu: &capability::Cpu) -> bool {
        cpu.cores >= self.cores && self.fits_architecture(cpu)
    }

    pub(super) fn fits_architecture(&self, cpu: &capability::Cpu) -> bool {
        let listed = |it: &String| self.architectures.contains(it);
        self.architectures.is_empty() || cpu.architecture.as_ref().is_some_and(listed)
    }
}

impl Rule {
    /// The expressions that do not hold, as sentences.
    fn failures(&self, device: &Capabilities) -> Vec<String> {
        let property = |key: &str| device.as_json().pointer(key);
        let label = |key: &str| device.labels().get(key);
        let properties = self.properties.iter().flat_map(|it| it.failures(&property));
        let labels = self.labels.iter().flat_map(|it| it.failures(&label));
        properties.chain(labels.map(|it| format!("label {it}"))).collect()
    }
}

impl Selector {
    fn failures<'j>(&self, lookup: &dyn Fn(&str) -> Option<&'j Json>) -> Vec<String> {
        let failed = self.expressions.iter().filter(|it| !it.holds(lookup(&it.key)));
        failed.map(|it| it.failure(lookup(&it.key))).collect()
    }

    fn holds_for(&self, item: &Json, all: bool) -> bool {
        let mut held = self.expressions.iter().map(|it| it.holds(item.pointer(&it.key)));
        if all { held.all(|it| it) } else { held.any(|it| it) }
    }
}

impl Expression {
    pub(super) fn holds(&self, value: Option<&Json>) -> bool {
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::In => self.matching(value).is_some_and(|it| it),
            Operator::NotIn => self.matching(value).is_some_and(|it| !it),
            Operator::Gt => self.compared(value).is_some_and(|(value, bound)| value > bound),
            Operator::Lt => self.compared(value).is_some_and(|(value, bound)| value < bound),
            Operator::ContainsAll => self.contains(value, true),
            Operator::ContainsAny => self.contains(value, false),
        }
    }

    /// Whether the value or an element of it is listed; `None` if it is of a
    /// kind that cannot be compared.
    fn matching(&self, value: Option<&Json>) -> Option<bool> {
        let listed = |value: &Json| self.values.iter().any(|it| same(it, value));
        match value? {
            Json::Array(items) if items.iter().all(is_scalar) => Some(items.iter().any(listed)),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
            value @ (Json::Bool(_) | Json::Number(_) | Json::String(_)) => Some(listed(value)),
        }
    }

    fn compared(&self, value: Option<&Json>) -> Option<(f64, f64)> {
        let [bound] = self.values.as_slice() else { return None };
        Some((value?.as_f64()?, bound.as_f64()?))
    }

    fn contains(&self, value: Option<&Json>, all: bool) -> bool {
        let (Some(Json::Array(items)), Some(selector)) = (value, &self.items) else { return false };
        items.iter().filter(|it| it.is_object()).any(|it| selector.holds_for(it, all))
    }
}

fn is_scalar(value: &Json) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

/// Numbers are equal if their values are, however they are written.
fn same(a: &Json, b: &Json) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
