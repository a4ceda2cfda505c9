//! Names of deployments, applications and components.

use std::str::FromStr;

use crate::value::text::{Invalid, Reason, Text, check, holds_text};

/// The id of a deployment: a UUID in lower-case canonical form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeploymentId(String);

/// The id of an application, chosen by its supplier.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApplicationId(String);

/// The name of a component inside a profile.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentName(String);

holds_text!(DeploymentId);
holds_text!(ApplicationId);
holds_text!(ComponentName);

impl DeploymentId {
    /// Makes a UUID of version 8 (RFC 9562) from random or hashed bytes of the
    /// caller.
    pub fn from_bytes(mut bytes: [u8; 16]) -> DeploymentId {
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let groups = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        DeploymentId(groups.join("-"))
    }
}

impl Text for DeploymentId {
    const WHAT: &'static str = "deployment id";
    const EXPECTED: &'static str = "a UUID such as `6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40`";
}

impl FromStr for DeploymentId {
    type Err = Invalid;

    /// Upper case is accepted and converted to lower case.
    fn from_str(text: &str) -> Result<DeploymentId, Invalid> {
        let lower = text.to_ascii_lowercase();
        check::<Self>(&lower, 36, |c| c == '-' || c.is_ascii_hexdigit())?;
        let groups: Vec<usize> = lower.split('-').map(str::len).collect();
        if groups != [8, 4, 4, 4, 12] {
            return Err(Invalid::new::<Self>(text, Reason::Form));
        }
        Ok(DeploymentId(lower))
    }
}

impl Text for ApplicationId {
    const WHAT: &'static str = "application id";
    const EXPECTED: &'static str = "1 to 200 lower-case letters, digits and dashes";
}

impl FromStr for ApplicationId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<ApplicationId, Invalid> {
        check::<Self>(text, 200, is_name_character)?;
        Ok(ApplicationId(text.to_owned()))
    }
}

impl Text for ComponentName {
    const WHAT: &'static str = "component name";
    const EXPECTED: &'static str = "1 to 200 lower-case letters, digits and dashes";
}

impl FromStr for ComponentName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<ComponentName, Invalid> {
        check::<Self>(text, 200, is_name_character)?;
        Ok(ComponentName(text.to_owned()))
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deployment_ids_are_uuids() {
        check::<DeploymentId>("6F1C2A34-0d5e-4b7a-9c11-2f8e7d6a5b40", None);
        check::<DeploymentId>("6f1c2a340d5e4b7a9c112f8e7d6a5b40", Some("is malformed"));
        check::<DeploymentId>("6f1c2a34-0d5e-4b7a-9c112f8e7d6a5b40-", Some("is malformed"));
        check::<DeploymentId>("../../etc/passwd", Some("has the character `.`"));
        check::<DeploymentId>("", Some("deployment id is empty"));
        let made = DeploymentId::from_bytes([0xff; 16]);
        assert_eq!(made.as_str(), "ffffffff-ffff-8fff-bfff-ffffffffffff");
        assert_eq!(made.as_str().parse(), Ok(made));
    }

    #[test]
    fn application_ids_and_component_names_are_lower_case() {
        check::<ApplicationId>("com-example-pump-2", None);
        check::<ApplicationId>("Pump", Some("has the character `P`"));
        check::<ApplicationId>(&"a".repeat(201), Some("is longer than 200 characters"));
        check::<ComponentName>("pump_agent", Some("`pump_agent` has the character `_`"));
    }

    #[track_caller]
    fn check<T: Text + std::fmt::Debug>(text: &str, flaw: Option<&str>) {
        match (text.parse::<T>(), flaw) {
            (Ok(_), None) => {}
            (Err(error), Some(flaw)) => assert!(error.to_string().contains(flaw), "{error}"),
            (other, _) => panic!("{other:?}"),
        }
    }
}
