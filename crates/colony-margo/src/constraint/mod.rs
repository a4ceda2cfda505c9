//! The requirements of a profile on a device, and whether a device meets them.
//!
//! The constraints are forwarded to the device as they were written, so the
//! written form is kept beside the typed one and is the one that is serialised.
//! The device must check the rules itself; the capacity check is optional
//! there.

mod evaluate;
mod mismatch;
mod read;

pub use mismatch::Mismatch;
pub(crate) use read::cores as read_cores;

use serde::{Serialize, Serializer};

use crate::Json;
use crate::value::quantity::{Cores, Quantity};

/// The constraints of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceConstraints {
    capacity: Option<Capacity>,
    rules: Vec<Rule>,
    written: Json,
}

/// The minimum a device must have. An absent field is not required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacity {
    pub cpu: Option<Cpu>,
    pub memory: Option<Quantity>,
    pub storage: Option<Quantity>,
}

/// One processor with enough cores, of one of the architectures (or of any,
/// when none is listed). Processors are never added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    pub cores: Cores,
    pub architectures: Vec<String>,
}

/// A rule holds when both selectors hold; an absent selector does. A device is
/// eligible when one rule holds, or when there are no rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    pub properties: Option<Selector>,
    pub labels: Option<Selector>,
}

/// A selector holds when all its expressions do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    pub expressions: Vec<Expression>,
}

/// One condition. The key is a JSON Pointer relative to the properties or to
/// the item of a list, or the exact key of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    pub key: String,
    pub operator: Operator,
    pub values: Vec<Json>,
    pub items: Option<Selector>,
}

/// How an expression compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    ContainsAll,
    ContainsAny,
}

crate::yaml::deserialize_by_read!(DeviceConstraints);

impl DeviceConstraints {
    /// The minimum a device must have.
    pub fn capacity(&self) -> Option<&Capacity> {
        self.capacity.as_ref()
    }

    /// The rules, of which one must hold.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The constraints as they were written.
    pub fn as_json(&self) -> &Json {
        &self.written
    }
}

impl Serialize for DeviceConstraints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl Operator {
    const NAMES: [(&'static str, Operator); 8] = [
        ("In", Operator::In),
        ("NotIn", Operator::NotIn),
        ("Exists", Operator::Exists),
        ("DoesNotExist", Operator::DoesNotExist),
        ("Gt", Operator::Gt),
        ("Lt", Operator::Lt),
        ("ContainsAll", Operator::ContainsAll),
        ("ContainsAny", Operator::ContainsAny),
    ];

    fn from_name(name: &str) -> Option<Operator> {
        Operator::NAMES.iter().find(|it| it.0 == name).map(|it| it.1)
    }
}
