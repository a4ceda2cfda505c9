//! Labels of containers, which anybody with the engine's socket may write.

use std::collections::BTreeMap;

use colony_core::margo::DeviceId;
use colony_runtime::fuzz;

use crate::{Outcome, hold};

pub(super) fn labels(input: &[u8]) -> Outcome {
    let labels: BTreeMap<String, String> = match serde_json::from_slice(input) {
        Ok(labels) => labels,
        Err(error) => return Outcome::refused(error),
    };
    let node: DeviceId = "a".parse().expect("a device");
    let parts: Vec<&str> = labels.values().map(String::as_str).collect();
    let name = fuzz::name(&node, &parts);
    let plain = |it: u8| it.is_ascii_alphanumeric() || b"_.-".contains(&it);
    assert!(name.bytes().all(plain) && name.len() <= 200, "{name:?} is not a name of an engine");
    match fuzz::labels(&node, &labels) {
        None => Outcome::refused("not ours"),
        Some(written) => {
            let again = fuzz::labels(&node, &written).expect("our labels are read");
            hold::same(&again, &written, "labels");
            Outcome::taken(written.contains_key("colony.health"))
        }
    }
}
