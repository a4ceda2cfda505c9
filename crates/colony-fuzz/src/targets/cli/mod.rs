//! What is typed on a command line, or set for a role.
//!
//! The binary is not a library: its readers are included by their files.

#[path = "../../../../colony/src/address.rs"]
mod address;
#[path = "../../../../colony/src/cli/reference.rs"]
mod reference;
#[path = "../../../../colony/src/config/value.rs"]
mod value;

use std::net::SocketAddr;
use std::time::Duration;

use colony_core::document::CountOrPercent;
use reference::{NodeRef, Setting, duration, lifetime};

use crate::Shape::Text;
use crate::{Outcome, Target, hold};

pub(super) const TARGETS: &[Target] = &[Target::new("cli_value", Text, VALUES, value)];

const VALUES: &[&str] = &[
    "home/laptop",
    "/",
    "=",
    ",",
    "key=value",
    "%",
    "25%",
    "+1",
    "0",
    "s",
    "m",
    "h",
    "d",
    "ms",
    "18446744073709551615",
    "18446744073709551616",
    ":7443",
    "0.0.0.0:7443",
    "[::1]:1",
    "::",
    "99999",
    " ",
    "é",
];

/// What is taken is printed and read again as the same.
fn value(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let taken = [
        node(&text),
        setting(&text),
        count(&text),
        size(&text),
        time(&text),
        list(&text),
        pairs(&text),
        seconds(&text),
        listen(&text),
    ];
    Outcome::taken(taken.map(|it| if it { 'x' } else { '-' }).iter().collect::<String>())
}

fn node(text: &str) -> bool {
    let Ok(node) = text.parse::<NodeRef>() else { return false };
    assert!(!node.site.is_empty() && !node.node.is_empty() && !node.site.contains('/'));
    hold::same(&node.to_string().parse(), &Ok(node), text);
    true
}

fn setting(text: &str) -> bool {
    let Ok(setting) = text.parse::<Setting>() else { return false };
    let Setting { key, value } = &setting;
    assert!(!key.is_empty() && !key.contains('='), "{key:?} is not a key");
    hold::same(&format!("{key}={value}").parse(), &Ok(setting.clone()), text);
    true
}

/// It is printed as a count or a percentage, and read again as the same.
fn count(text: &str) -> bool {
    let Ok(count) = text.parse::<CountOrPercent>() else { return false };
    hold::same(&count.to_string().parse(), &Ok(count), text);
    let digits = text.strip_suffix('%').unwrap_or(text);
    assert!(digits.bytes().all(|it| it.is_ascii_digit()), "{text:?} is not a count");
    true
}

fn size(text: &str) -> bool {
    let Ok(bytes) = value::bytes(text) else { return false };
    assert!(bytes == u64::MAX || bytes % 1_024 == 0, "sizes are given in whole KiB");
    true
}

fn time(text: &str) -> bool {
    let Ok(seconds) = lifetime(text) else { return false };
    assert!(seconds > 0, "no time at all");
    assert_eq!(lifetime(&format!("{seconds}s")), Ok(seconds));
    assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
    true
}

fn list(text: &str) -> bool {
    let items = value::list(Some(text));
    assert!(items.iter().all(|it| !it.is_empty() && !it.contains(',') && it.trim() == it));
    hold::same(&value::list(Some(&items.join(","))), &items, text);
    !items.is_empty()
}

fn pairs(text: &str) -> bool {
    let Ok(pairs) = value::pairs(Some(text)) else { return false };
    let printed: Vec<String> = pairs.iter().map(|(key, it)| format!("{key}={it}")).collect();
    hold::same(&value::pairs(Some(&printed.join(","))).ok(), &Some(pairs.clone()), text);
    !pairs.is_empty()
}

fn seconds(text: &str) -> bool {
    let Ok(time) = value::seconds(text) else { return false };
    assert!(text.starts_with(|it: char| it.is_ascii_digit()), "{text:?} is not a time");
    if let Ok(millis) = u64::try_from(time.as_millis()) {
        hold::same(&value::seconds(&format!("{millis}ms")).ok(), &Some(time), text);
    }
    true
}

fn listen(text: &str) -> bool {
    let usual: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 7443));
    let Ok(address) = address::listen(text, usual) else { return false };
    hold::same(&address::listen(&address.to_string(), usual).ok(), &Some(address), text);
    true
}
