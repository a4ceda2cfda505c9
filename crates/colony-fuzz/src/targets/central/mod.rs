//! Readers of `colony-central`: backups, bodies, tokens, versions.

mod backup;
mod header;

use std::cmp::Ordering;

use colony_api::request::{DeployRequest, Release, TokenAdd};
use colony_api::site::{EventBatch, SiteJoinRequest};
use colony_central::fuzz;
use serde::de::DeserializeOwned;

use crate::Shape::{Bytes, Json, Text};
use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target::new("central_backup", Bytes, BACKUP, backup::backup),
    Target::new("central_body", Json, BODY, body),
    Target::new("central_authorization", Text, AUTHORIZATION, header::authorization),
    Target::new("central_version", Text, VERSION, version),
];

const BACKUP: &[&str] = &[
    "backup.json",
    "central.db",
    "deployments.bundle",
    "ca/ca.key",
    "ca/ca.pem",
    "token.key",
    "admin.token",
    "../",
    "/",
    "ustar",
    "ustar  \0",
    "\0\0\0\0\0\0\0\0",
    "00000000000\0",
    "77777777777\0",
    "\u{80}",
    "5",
    "S",
    "L",
    "x",
    "././@LongLink",
    "\"format\":2",
];
const BODY: &[&str] = &[
    "token",
    "csr",
    "replace",
    "incarnation",
    "events",
    "body",
    "what",
    "\u{1b}[2J",
    "\u{85}",
    "strategy",
    "type",
    "a very long text that no user wants to read again in an answer about it",
];
const AUTHORIZATION: &[&str] = &[
    "Bearer ", "bearer ", "Basic ", "BASIC ", "Digest ", "colop_", ":", "eDphYmM=", "=", " ", "\t",
];
const VERSION: &[&str] = &[
    "v",
    "V",
    "+",
    "-",
    ".",
    "0",
    "00",
    "1",
    "01",
    "10",
    "rc",
    "alpha",
    "1.0",
    "1.0.0",
    "1.00",
    "18446744073709551616",
    "\n",
    "é",
];

/// A refusal states the reason and the place, in one short line.
fn body(input: &[u8]) -> Outcome {
    let told = [
        read::<SiteJoinRequest>(input),
        read::<EventBatch>(input),
        read::<DeployRequest>(input),
        read::<TokenAdd>(input),
        read::<Release>(input),
    ];
    Outcome::taken(told.concat())
}

fn read<T: DeserializeOwned>(input: &[u8]) -> String {
    let Err(said) = fuzz::body::<T>(input) else { return "x".to_owned() };
    assert!(said.chars().count() <= 440, "{} characters: {said:.200}", said.len());
    assert!(!said.contains(char::is_control), "{said:?} breaks its line");
    assert!(said.contains(" at line "), "{said:?} says no place");
    said.split(['`', '"']).step_by(2).collect()
}

/// Versions, one a line, have an order, and the newest is one of them.
fn version(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let all: Vec<&str> = text.lines().take(24).collect();
    let few = &all[..all.len().min(7)];
    few.iter().for_each(|a| few.iter().for_each(|b| few.iter().for_each(|c| ordered(a, b, c))));
    let mut sorted = all.clone();
    sorted.sort_by(|a, b| fuzz::compare(a, b));
    let Some(newest) = fuzz::newest(&all) else {
        assert!(all.is_empty(), "none of {all:?}");
        return Outcome::refused("none");
    };
    let pre = fuzz::is_prerelease(newest);
    for other in &all {
        let rival = pre || !fuzz::is_prerelease(other);
        let newer = fuzz::compare(other, newest) == Ordering::Greater;
        assert!(!(rival && newer), "{other:?} is newer than {newest:?}");
        assert!(!pre || fuzz::is_prerelease(other), "{newest:?} goes before {other:?}");
    }
    let order: String = few.windows(2).map(|it| sign(fuzz::compare(it[0], it[1]))).collect();
    Outcome::taken(format!("{order} {pre}"))
}

fn ordered(a: &str, b: &str, c: &str) {
    let (ab, bc, ac) = (fuzz::compare(a, b), fuzz::compare(b, c), fuzz::compare(a, c));
    assert_eq!(fuzz::compare(b, a), ab.reverse(), "{a:?} and {b:?}");
    assert_eq!(fuzz::compare(a, &format!("{a}+x")), Ordering::Equal, "{a:?} with a build");
    let follows = ab == bc || bc == Ordering::Equal;
    assert!(!follows || ac == ab, "{a:?} {ab:?} {b:?} {bc:?} {c:?}, and yet {ac:?}");
}

fn sign(order: Ordering) -> char {
    match order {
        Ordering::Less => '<',
        Ordering::Equal => '=',
        Ordering::Greater => '>',
    }
}
