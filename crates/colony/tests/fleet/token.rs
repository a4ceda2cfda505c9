//! Invitations are good once and for a while.

use crate::kit::{Fleet, wait};

#[test]
fn expired_token() {
    let mut fleet = Fleet::small();
    let said = fleet.colony(["node", "invite", "--site", "home", "--lifetime", "1s"]).ok();
    let invitation = said.invitation();
    let read = || colony_wfm::token::read(&invitation).unwrap();
    wait("the invitation to expire", || Some(()).filter(|()| unix_now() > read().expires + 1));

    fleet.joining_node("home/late", "late", &invitation);

    refused(&mut fleet, "home/late", "token expired");
    assert_eq!(fleet.json(["node", "list"]).as_array().unwrap().len(), 1);
    fleet.hello_installs();
    fleet.node("home", "late2");
}

#[test]
fn reused_token() {
    let mut fleet = Fleet::small();
    let invitation = fleet.colony(["node", "invite", "--site", "home"]).ok().invitation();
    fleet.joining_node("home/n2", "n2", &invitation);
    wait("the node", || Some(()).filter(|()| fleet.presence("home/n2") == "online"));
    let site = fleet.colony(["site", "add", "mill"]).ok().invitation();
    fleet.local("mill", &site);
    let invite = ["node", "invite", "--site", "mill"];
    wait("the site", || Some(()).filter(|()| fleet.colony(invite).code == 0));

    fleet.joining_node("home/n3", "n3", &invitation);
    refused(&mut fleet, "home/n3", "token was used before; ask for a new one");
    fleet.local("thief", &site);
    refused(
        &mut fleet,
        "thief",
        "token was used before; each token lets in once, ask for a new one",
    );

    // Those who joined first are in, and stay in.
    assert_eq!(fleet.json(["node", "list"]).as_array().unwrap().len(), 2);
    fleet.process("home/n2").kill();
    fleet.process("home/n2").restart();
    fleet.hello_installs();
    fleet.node("mill", "m1");
}

#[track_caller]
fn refused(fleet: &mut Fleet, part: &str, sentence: &str) {
    let process = fleet.process(part);
    let status = process.ended();
    let log = process.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains(sentence), "expected to read: {sentence}\n{log}");
}

#[expect(clippy::disallowed_methods, reason = "the invitation expires by the real clock")]
fn unix_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_secs()).unwrap()
}
