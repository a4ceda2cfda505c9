//! Names, states, actors and codes: one line each.

use colony_core::code::Code;
use colony_core::event::Actor;
use colony_core::id::{BlobId, DeploymentName, GitRevision, NodeName, SiteName};
use colony_core::state::State;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use crate::Outcome;

pub(super) fn name(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let actor = Actor::from(text.to_string());
    assert_eq!(Actor::from(actor.to_string()), actor, "{text:?} prints as {actor}");
    let code = serde_json::from_value::<Code>(text.as_ref().into());
    if let Ok(code) = &code {
        let again = serde_json::from_value::<Code>(code.as_str().into()).expect("a code is read");
        assert_eq!(again, *code, "{text:?}");
    }
    let taken = [
        safe::<SiteName>(&text),
        safe::<NodeName>(&text),
        safe::<DeploymentName>(&text),
        safe::<GitRevision>(&text),
        safe::<BlobId>(&text),
        printed::<State>(&text),
        actor.is_operator(),
        code.is_ok(),
    ];
    Outcome::taken(taken.map(|it| if it { 'x' } else { '-' }).iter().collect::<String>())
}

/// A name can stand in a path, a URL or a label as it is.
fn safe<T: FromStr + Display + PartialEq + Debug>(text: &str) -> bool {
    let Ok(value) = text.parse::<T>() else { return false };
    let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    assert!(text.bytes().all(plain) && text.len() <= 64, "{text:?} is not a safe name");
    assert!(!text.starts_with('-') && !text.ends_with('-'), "{text:?} may be an option");
    assert_eq!(value.to_string(), text);
    true
}

fn printed<T: FromStr + Display + PartialEq + Debug>(text: &str) -> bool {
    let Ok(value) = text.parse::<T>() else { return false };
    assert_eq!(value.to_string(), text, "a state prints as another text");
    true
}
