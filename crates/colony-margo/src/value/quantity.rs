//! Amounts of memory, storage and processor cores.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::Number;

use crate::value::text::{Invalid, Reason, Text, check, serde_as_text};

const UNITS: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// An amount of memory or storage in binary units. Read with or without a space
/// before the unit, written without. Equal only if the unit is equal too; use
/// [`Quantity::bytes`] to compare amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    bytes: u128,
    unit: u8,
}

serde_as_text!(Quantity);

impl Quantity {
    /// The amount in bytes.
    pub fn bytes(&self) -> u128 {
        self.bytes
    }

    /// A measured amount, in mebibytes and rounded down.
    pub fn from_bytes(bytes: u64) -> Quantity {
        Quantity { bytes: u128::from(bytes >> 20) << 20, unit: 1 }
    }

    fn shift(unit: u8) -> u32 {
        10 * (u32::from(unit) + 1)
    }
}

impl Text for Quantity {
    const WHAT: &'static str = "quantity";
    const EXPECTED: &'static str =
        "a whole number with a unit `Ki`, `Mi`, `Gi`, `Ti`, `Pi` or `Ei`, such as `512Mi`";
}

impl FromStr for Quantity {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Quantity, Invalid> {
        check::<Self>(text, 64, |c| c.is_ascii_alphanumeric() || c == ' ')?;
        let form = || Invalid::new::<Self>(text, Reason::Form);
        let split = text.find(|c: char| !c.is_ascii_digit()).filter(|it| *it > 0);
        let (digits, unit) = text.split_at(split.ok_or_else(form)?);
        let unit = unit.strip_prefix(' ').unwrap_or(unit);
        let unit = UNITS.iter().position(|it| *it == unit).ok_or_else(form)? as u8;
        let amount: Option<u64> = digits.parse().ok();
        let amount = amount.ok_or_else(|| Invalid::new::<Self>(text, Reason::TooLarge))?;
        Ok(Quantity { bytes: u128::from(amount) << Quantity::shift(unit), unit })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.bytes >> Quantity::shift(self.unit);
        write!(f, "{amount}{}", UNITS[usize::from(self.unit)])
    }
}

/// A number of processor cores: finite and not negative.
#[derive(Debug, Clone, Copy)]
pub struct Cores(f64);

impl Cores {
    /// A number of cores, if it can be one.
    pub fn new(cores: f64) -> Option<Cores> {
        (cores.is_finite() && cores >= 0.0).then_some(Cores(cores + 0.0))
    }

    /// Twice as many.
    pub fn doubled(self) -> Cores {
        Cores::new(self.0 * 2.0).unwrap_or(self)
    }

    /// The number.
    pub fn get(&self) -> f64 {
        self.0
    }
}

impl PartialEq for Cores {
    fn eq(&self, other: &Cores) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cores {}

impl PartialOrd for Cores {
    fn partial_cmp(&self, other: &Cores) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cores {
    fn cmp(&self, other: &Cores) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Cores {
    /// A whole number of cores is written without a fraction.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.to_string().parse::<u64>().ok().map(Number::from);
        let number = whole.or_else(|| Number::from_f64(self.0));
        number.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_and_without_a_blank() {
        check("59 Gi", "59Gi = 63350767616");
        check("1024Mi", "1024Mi = 1073741824");
        check("0Ki", "0Ki = 0");
        check(
            "18446744073709551615Ei",
            "18446744073709551615Ei = 21267647932558653965307991459878666240",
        );
        check("18446744073709551616Ki", "`18446744073709551616Ki` is too large");
        check("16", "`16` is malformed");
        check("Gi", "`Gi` is malformed");
        check("1.5Gi", "`1.5Gi` has the character `.`");
        check("16GB", "`16GB` is malformed");
        check("16  Gi", "`16  Gi` is malformed");
        check("16gi", "`16gi` is malformed");
    }

    #[test]
    fn cores_are_finite() {
        assert_eq!(Cores::new(-1.0), None);
        assert_eq!(Cores::new(f64::NAN), None);
        assert_eq!(Cores::new(-0.0), Cores::new(0.0));
        assert_eq!(serde_json::to_string(&Cores::new(4.0)).unwrap(), "4");
        assert_eq!(serde_json::to_string(&Cores::new(0.5)).unwrap(), "0.5");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match text.parse::<Quantity>() {
            Ok(it) => format!("{it} = {}", it.bytes()),
            Err(error) => error.problem(),
        };
        assert_eq!(found, expected);
    }
}
