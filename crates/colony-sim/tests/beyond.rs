//! What no story can meet is met here: see `src/excuse.rs`.

use colony_core::code::{Class, Code};
use colony_core::id::PlacementId;
use colony_core::time::Timestamp;
use colony_core::transition::Reason;
use colony_core::why::{self, Cause, Next, NodeCause, Owner, Subject, VerdictCause, Why};
use colony_world::{App, Plant, deployment_id};

#[test]
fn codes_of_others_are_tried_again_or_condemn_and_are_told() {
    for code in ["node-shutdown", "101", "102", "103"] {
        let code = Code::from(code.to_owned());
        let mut plant = Plant::new();
        plant.join("a");
        plant.deploy(&App::new("hello", "1.0.0").with("retry: {installs: 1}"));
        plant.report("a", "hello", &format!("failed:{code}"));

        let id = deployment_id("hello");
        let place = PlacementId { deployment: id.clone(), node: "a".parse().expect("a name") };
        let mut told = why::deployment_by_id(&plant.site, &id, plant.now);
        told.extend(why::placement(&plant.site, &place, plant.now));
        let told: Vec<String> = told.iter().map(|it| it.text(plant.now.wall)).collect();
        let told = told.join("\n");
        assert!(told.contains(&code.to_string()), "{told}");
        let condemned = plant.site.deployment(&id).is_some_and(|it| it.is_quarantined());
        assert_eq!(condemned, code.class() == Class::Revision, "{code}: {told}");
    }
}

#[test]
fn causes_that_no_site_can_come_to_still_say_what_they_mean() {
    let node = || "n7".parse().expect("a name");
    check(Cause::Node(NodeCause::NodeRetired { node: node() }), "node n7 is retired");
    let reason = Reason::HealthLostAfterSoak;
    let expected = format!("it does not roll back because {reason}");
    check(Cause::Verdict(VerdictCause::RollbackRefused { reason }), &expected);
}

#[track_caller]
fn check(cause: Cause, expected: &str) {
    let why = Why {
        subject: Subject::Node { node: "n7".parse().expect("a name") },
        cause,
        also: Vec::new(),
        owner: Owner::Operator,
        act: None,
        since: None,
        next: Next { what: "nothing".to_owned(), at: None },
    };
    let text = why.text(Timestamp(0));
    assert!(text.contains(expected), "{text}");
}
