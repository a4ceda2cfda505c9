//! Names, digests, amounts: one line each.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use colony_core::margo::extension;
use colony_core::margo::yaml;
use colony_core::margo::{
    ApplicationId, ComponentName, DeploymentId, DeviceId, DeviceTarget, Digest, Quantity,
    Repository, Revision, Timeout,
};

use crate::Outcome;

pub(super) fn text(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let taken = [
        printed::<DeploymentId>(&text),
        printed::<ApplicationId>(&text),
        printed::<ComponentName>(&text),
        printed::<DeviceTarget>(&text),
        printed::<Digest>(&text),
        printed::<Revision>(&text),
        printed::<Timeout>(&text),
        quantity(&text),
        repository(&text),
        device(&text),
        yaml::duration(&text).is_some(),
        extension::is_key(&text),
    ];
    Outcome::taken(taken.map(|it| if it { 'x' } else { '-' }).iter().collect::<String>())
}

/// Printed and read again it is the same, and it prints on one line.
pub(super) fn printed<T: FromStr + Display + PartialEq + Debug>(text: &str) -> bool {
    let Ok(value) = text.parse::<T>() else { return false };
    let printed = value.to_string();
    assert!(!printed.chars().any(char::is_control), "{printed:?} breaks its line");
    assert!(printed.len() <= 1024, "{} bytes in a name", printed.len());
    assert_eq!(printed.parse::<T>().ok().as_ref(), Some(&value), "{text:?} prints as {printed:?}");
    true
}

fn quantity(text: &str) -> bool {
    let Ok(value) = text.parse::<Quantity>() else { return false };
    let again: Quantity = value.to_string().parse().expect("an amount is read again");
    assert_eq!((again, again.bytes()), (value, value.bytes()));
    true
}

fn repository(text: &str) -> bool {
    let Ok(value) = text.parse::<Repository>() else { return false };
    assert_eq!(format!("oci://{}", value.reference()), text, "the reference is another one");
    printed::<Repository>(text)
}

fn device(text: &str) -> bool {
    let Ok(value) = text.parse::<DeviceId>() else { return false };
    assert!(value.segments().all(|it| !matches!(it, "" | "." | "..")), "{value} leads elsewhere");
    if let Some(parent) = value.parent() {
        assert!(value.is_below(&parent) && !parent.is_below(&value));
    }
    printed::<DeviceId>(text)
}
