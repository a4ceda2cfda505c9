//! Why a device does not meet constraints, as sentences for people.

use std::fmt;

use super::{Cpu, Expression, Operator, Selector};
use crate::Json;
use crate::capability;
use crate::value::quantity::Quantity;

/// One constraint that a device does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// No single processor fits.
    Cpu {
        needs: Cpu,
        has: Vec<capability::Cpu>,
    },
    Memory {
        needs: Quantity,
        has: Option<Quantity>,
    },
    Storage {
        needs: Quantity,
        has: Option<Quantity>,
    },
    /// The rule of this number, counted from 1, does not hold.
    Rule {
        number: usize,
        failures: Vec<String>,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Cpu { needs, has } => cpu(f, needs, has),
            Mismatch::Memory { needs, has } => amount(f, "memory", needs, has.as_ref()),
            Mismatch::Storage { needs, has } => amount(f, "storage", needs, has.as_ref()),
            Mismatch::Rule { number, failures } => {
                write!(f, "rule {number}: {}", failures.join(", and "))
            }
        }
    }
}

fn amount(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    needs: &Quantity,
    has: Option<&Quantity>,
) -> fmt::Result {
    write!(f, "needs {needs} of {what}, device ")?;
    match has {
        Some(has) => write!(f, "has {has}"),
        None => write!(f, "reports none"),
    }
}

fn cpu(f: &mut fmt::Formatter<'_>, needs: &Cpu, has: &[capability::Cpu]) -> fmt::Result {
    if has.is_empty() {
        return write!(f, "needs {} cores, device reports no cpu", needs.cores);
    }
    let architectures = needs.architectures.join(" or ");
    if !has.iter().any(|it| needs.fits_architecture(it)) {
        let found: Vec<&str> =
            has.iter().map(|it| it.architecture.as_deref().unwrap_or("an unknown one")).collect();
        return write!(f, "needs architecture {architectures}, device has {}", found.join(", "));
    }
    let of = if architectures.is_empty() { String::new() } else { format!(" {architectures}") };
    let found: Vec<String> = has.iter().map(ToString::to_string).collect();
    write!(f, "needs {} cores in one{of} cpu, device has {}", needs.cores, found.join(", "))
}

impl Expression {
    /// Describes the failure, given the value that was found.
    pub(super) fn failure(&self, value: Option<&Json>) -> String {
        let key = &self.key;
        let values = list(&self.values);
        match (self.operator, value) {
            (Operator::ContainsAll | Operator::ContainsAny, Some(_)) => {
                let wanted = self.items.as_ref().map(|it| it.wanted(self.operator));
                format!("{key} has no item with {}", wanted.unwrap_or_default())
            }
            (Operator::DoesNotExist, _) => format!("{key} must not exist"),
            (_, None) => format!("{key} does not exist"),
            (Operator::In, Some(value)) => format!("{key} is {}, not {values}", short(value)),
            (Operator::NotIn, Some(value)) => {
                format!("{key} is {}, which must not be {values}", short(value))
            }
            (Operator::Gt, Some(value)) => {
                format!("{key} is {}, not above {values}", short(value))
            }
            (Operator::Lt, Some(value)) => {
                format!("{key} is {}, not below {values}", short(value))
            }
            (Operator::Exists, Some(_)) => format!("{key} exists"),
        }
    }
}

impl Selector {
    fn wanted(&self, operator: Operator) -> String {
        let link = if operator == Operator::ContainsAll { " and " } else { " or " };
        let wanted: Vec<String> = self.expressions.iter().map(Expression::wanted).collect();
        wanted.join(link)
    }
}

impl Expression {
    fn wanted(&self) -> String {
        let key = &self.key;
        match self.operator {
            Operator::In => format!("{key} {}", list(&self.values)),
            Operator::NotIn => format!("{key} other than {}", list(&self.values)),
            Operator::Exists => key.clone(),
            Operator::DoesNotExist => format!("no {key}"),
            Operator::Gt => format!("{key} above {}", list(&self.values)),
            Operator::Lt => format!("{key} below {}", list(&self.values)),
            Operator::ContainsAll | Operator::ContainsAny => format!("a matching {key}"),
        }
    }
}

fn list(values: &[Json]) -> String {
    values.iter().map(short).collect::<Vec<_>>().join(" or ")
}

fn short(value: &Json) -> String {
    match value {
        Json::String(text) => text.chars().take(60).collect(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
    }
}
