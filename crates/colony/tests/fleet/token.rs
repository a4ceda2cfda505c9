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

    refused(&mut fleet, "home/late", "invitation expired");
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
    refused(
        &mut fleet,
        "home/n3",
        "invitation was already used; create another one with `colony node invite` or `colony site invite`",
    );
    fleet.local("thief", &site);
    refused(
        &mut fleet,
        "thief",
        "invitation was already used; create another one with `colony site invite`",
    );

    // Those who joined first are in, and stay in.
    assert_eq!(fleet.json(["node", "list"]).as_array().unwrap().len(), 2);
    fleet.process("home/n2").kill();
    fleet.process("home/n2").restart();
    fleet.hello_installs();
    fleet.node("mill", "m1");
}

#[test]
fn a_node_that_joins_waits_for_a_site_that_is_away() {
    let mut fleet = Fleet::small();
    let invitation = fleet.colony(["node", "invite", "--site", "home"]).ok().invitation();
    fleet.process("home").kill();
    fleet.joining_node("home/n2", "n2", &invitation);
    wait("the first try", || fleet.process("home/n2").log().find("could not join yet"));

    fleet.process("home").restart();

    wait("the node", || Some(()).filter(|()| fleet.presence("home/n2") == "online"));
    // The key it asked with is kept: what was lost could be asked for again.
    assert!(fleet.path().join("home-n2/node/identity/join.key").exists());
}

#[test]
fn tokens_of_operators_are_made_and_ended_by_command() {
    let fleet = Fleet::central(&[]);
    let made = fleet.colony(["token", "create", "wall", "--role", "viewer", "--lifetime", "1h"]);
    let token = made.ok().says("colop_").out.trim().to_owned();
    fleet.colony(["--token", &token, "status"]).ok();
    let refused = fleet.colony(["--token", &token, "token", "list"]);
    assert!(refused.code == 1 && refused.err.contains("this needs admin"), "{refused:?}");
    assert_eq!(fleet.json(["token", "list"]).as_array().unwrap().len(), 2);
    fleet.colony(["token", "delete", "wall"]).ok();
    assert_eq!(fleet.colony(["--token", &token, "status"]).code, 1);
}

#[test]
fn a_command_line_that_cannot_be_understood_is_exit_64() {
    let fleet = Fleet::central(&[]);
    assert_eq!(fleet.colony(["deploy"]).code, 64);
    assert_eq!(fleet.colony(["deplooy"]).code, 64);
    assert_eq!(fleet.colony(["--help"]).code, 0);
    assert_eq!(fleet.colony(["--version"]).code, 0);
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
