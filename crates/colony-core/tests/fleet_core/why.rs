//! Why a deployment is not at its end, asked at the central orchestrator.
//!
//! What the site says is shown as it is; what lies before the site is added.

use colony_core::event::{Body, Log};
use colony_core::fleet::{Fleet, SITE_SILENT};
use colony_core::site::{Commit, Input, deployment_path};
use colony_core::state::State;
use colony_core::time::Timestamp;
use colony_core::why::{self, AnswerKey, Why};
use colony_testkit::{Plant, blob, commit_id};

use crate::kit::story::{ROLLBACK, STORIES, app, plant_after};
use crate::kit::{Central, home, name};
use crate::status::file;

#[test]
fn nothing_is_unfinished_without_a_reason() {
    for (story, steps) in STORIES {
        let (mut plant, mut central) = (Plant::new(), Central::new());
        for step in *steps {
            step(&mut plant);
            central.sync(&plant);
            for name in central.fleet.deployment_names() {
                let standing = central.view().rollup_status(name);
                let why = whys(&central.fleet, name.as_str(), plant.now.wall);
                assert!(standing.is_at_rest() || !why.is_empty(), "{story}: {standing}");
            }
        }
    }
}

/// Also what a whole site is asked for: every answer once.
#[test]
fn words_of_the_site_are_shown_as_they_are() {
    for (story, steps) in STORIES {
        let (mut plant, mut central) = (Plant::new(), Central::new());
        for step in *steps {
            step(&mut plant);
            central.sync(&plant);
            let names = plant.site.deployments().map(|it| &it.name);
            for name in names.filter(|it| central.view().deployments_named(it).count() == 1) {
                let shown = whys(&central.fleet, name.as_str(), plant.now.wall);
                let own = why::deployment(&plant.site, name, plant.now);
                let added = shown.len() - own.len();
                assert_eq!(&shown[added..], own, "{story}");
                let causes: Vec<&str> = shown[..added].iter().map(|it| it.cause.name()).collect();
                assert!(causes.is_empty() || causes == ["awaits-revert"], "{story}: {causes:?}");
            }
            let whole = central.fleet.why_site(&home(), None, plant.now.wall).expect("home exists");
            let is_away = |it: &Why| it.cause.name() == "node-offline";
            let missing = central.view().answers.values().flatten().find(|answer| {
                let covered = answer.cause.name() == "stale" && whole.iter().any(is_away);
                !covered && !whole.iter().any(|it| it == *answer || it.cause == answer.cause)
            });
            assert_eq!(missing, None, "{story}");
        }
    }
}

#[test]
fn what_is_installed_needs_no_reason() {
    let plant = plant_after(STORIES[0].1);
    let fleet = synced(&plant).fleet;
    assert_eq!(texts(&fleet, plant.now.wall), [""; 0]);
    let later = names(&fleet, "hello", plant.now.wall.after(SITE_SILENT * 2));
    assert_eq!(later, ["site-silent"], "what is shown is as old as the site's last word");
}

#[test]
fn site_that_never_joined_comes_first() {
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    fleet.change_planned(&home(), &name("hello"), Timestamp(0)).expect("home exists");
    check(
        &fleet,
        1,
        &[
            "site home: no orchestrator has ever joined site home. Next: it is deployed when the site \
         has joined. To do (operator): run what `colony site invite home` prints on the site's \
         machine.",
            "hello: deployments/home/hello.yaml is accepted and not committed yet. Next: it is \
         committed and pushed with the next batch.",
        ],
    );
}

#[test]
fn orchestrator_that_has_not_taken_over_says_why() {
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    fleet.change_planned(&home(), &name("hello"), Timestamp(0)).expect("home exists");
    fleet.join(&home(), Timestamp(0), false).expect("free");
    let first = "site home: the orchestrator of site home has joined and has not read Git yet. \
                 Next: it reads Git, then serves its nodes.";
    assert_eq!(texts(&fleet, Timestamp(1_000))[0], first);
    fleet.join(&home(), Timestamp(0), true).expect("replaced");
    let second = "site home: orchestrator 1 of site home replaces the one before and has not taken \
                  over yet. Next: it reads Git, then serves its nodes.";
    assert_eq!(texts(&fleet, Timestamp(1_000))[0], second);
    let silent = "site home: no contact with site home for 2 h. Next: the site keeps working and \
                  reports when the connection is restored. To do (site engineer): check power and \
                  network of site home.";
    assert_eq!(texts(&fleet, Timestamp(7_200_000))[..2], [silent, second]);
}

#[test]
fn file_on_its_way_is_told_by_path_and_commit() {
    let plant = Plant::new();
    let mut central = synced(&plant);
    let (fleet, now) = (&mut central.fleet, plant.now.wall);
    let (hello, file) = (name("hello"), Some(blob("1")));
    fleet.change_planned(&home(), &hello, now).expect("home exists");
    assert_eq!(
        texts(fleet, now),
        ["hello: deployments/home/hello.yaml is accepted and not committed yet. Next: it is \
         committed and pushed with the next batch."]
    );
    let refused = fleet.why(&home(), &hello, Some("the server hung up"), now).expect("home exists");
    assert_eq!(
        refused[0].text(now),
        "hello: deployments/home/hello.yaml is accepted and cannot be \
         committed: the server hung up. Next: the commit is tried again. To do (operator): make the \
         Git repository reachable and writable."
    );

    fleet.change_committed(&home(), &hello, commit_id(7), file.clone(), now).expect("home exists");
    assert_eq!(
        texts(fleet, now),
        [
            "hello: deployments/home/hello.yaml is committed in 0000000; site home is at 0000000, last \
         contact 0 s ago. Next: \
         site home applies it at its next fetch."
        ]
    );
    fleet.change_conflict(&home(), &hello, (file, None), "", now).expect("home exists");
    assert_eq!(
        texts(fleet, now),
        [
            "hello: deployments/home/hello.yaml was changed in Git by another author; it was left as it \
         is. Next: nothing until it is deployed again. To do (operator): compare the file with what \
         was planned and deploy again."
        ]
    );
}

#[test]
fn removal_on_its_way_is_told_by_path_and_commit() {
    let plant = plant_after(STORIES[0].1);
    let (mut central, now) = (synced(&plant), plant.now.wall);
    let (hello, git) = (name("hello"), commit_id(7));
    central.fleet.change_committed(&home(), &hello, git, None, now).expect("home exists");
    let removed = texts(&central.fleet, now).join("\n");
    assert!(removed.contains("hello.yaml is removed in 0000000; site home"), "{removed}");
}

#[test]
fn what_keeps_a_site_from_git_explains_a_commit_it_has_not_taken() {
    let (mut central, mut plant) = (Central::new(), Plant::new());
    let commit = Commit { revision: commit_id(50), base: None, rewritten: true, files: vec![] };
    let _ = plant.step(Input::Commit(commit));
    central.sync(&plant);
    let committed = (commit_id(2), Some(file("1.0.0")), plant.now.wall);
    let (git, blob, now) = committed;
    central.fleet.change_committed(&home(), &name("hello"), git, blob, now).expect("home exists");
    let causes = names(&central.fleet, "hello", now);
    assert_eq!(causes, ["not-fetched", "history-held"]);
}

#[test]
fn rollback_waits_for_its_revert_and_stays_refused() {
    let awaits = "hello: the site rolled back; deployments/home/hello.yaml in Git still has to be \
                  reverted. Next: it is reverted with the next commit, unless the file changes \
                  before.";
    let plant = plant_after(&ROLLBACK[..4]);
    let shown = texts(&synced(&plant).fleet, plant.now.wall);
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert_eq!(shown[0], awaits);
    assert!(shown[1].starts_with("hello: 2.0.0 was quarantined at this site"), "{shown:?}");
    let plant = plant_after(&ROLLBACK[..5]);
    let shown = texts(&synced(&plant).fleet, plant.now.wall);
    assert_eq!(shown.len(), 1, "Git holds what runs: {shown:?}");
    assert!(shown[0].starts_with("hello: 2.0.0 was quarantined at this site"), "{shown:?}");
}

#[test]
fn event_that_does_not_fit_is_told() {
    let mut plant = plant_after(STORIES[0].1);
    plant.deploy(&app("2.0.0"));
    let mut events = plant.events.clone();
    for event in &mut events {
        if let Body::StateTransition(it) = &mut event.body
            && it.to == State::Updating
        {
            it.from = Some(State::Pending);
        }
    }
    let mut log = Log::new(home(), 0);
    let append = |it: colony_core::event::Event| log.append(it.at, it.actor, it.git, it.body);
    let events: Vec<_> = events.into_iter().map(append).collect();
    let seq = events.last().map_or(0, |it| it.seq);
    let mut central = Central::new();
    let _ = central.apply(&events, plant.now.wall).expect("it is stored");
    let shown = texts(&central.fleet, plant.now.wall);
    let expected = format!(
        "hello: inconsistent report of node a: event {seq} starts at PENDING, but INSTALLED was \
         known before. Next: the mark goes when the placement is installed. To do (operator): look \
         at the events of the placement."
    );
    assert_eq!(shown, [expected]);
}

#[test]
fn site_that_sends_no_reasons_is_said_to() {
    let plant = plant_after(&[STORIES[0].1[0], |it| it.deploy(&app("1.0.0"))]);
    let mut central = Central::new();
    let _ = central.apply(&plant.events, plant.now.wall).expect("the log continues");
    assert_eq!(
        texts(&central.fleet, plant.now.wall),
        ["hello: it is INSTALLING, and site home has not sent the reason. Next: the reason comes \
         with the site's next report. To do (site engineer): upgrade the orchestrator of site home \
         if it is older than this one."]
    );
}

#[test]
fn refused_file_of_a_new_deployment_is_known_by_its_name() {
    let mut plant = Plant::new();
    let path = deployment_path(&home(), &name("hello"));
    let broken = colony_core::site::File::read(&home(), &path, &blob("x"), b"id: [");
    plant.commit(vec![broken]);
    let mut central = synced(&plant);
    assert!(central.fleet.deployment_names().eq([&name("hello")]));
    assert_eq!(names(&central.fleet, "hello", plant.now.wall), ["file-refused"]);
    assert_eq!(central.view().answers_about(&AnswerKey::File(name("hello"))).len(), 1);

    plant.undeploy("hello");
    central.sync(&plant);
    assert_eq!(central.fleet.deployment_names().count(), 0);
}

/// What `hello` waits for at a fleet that hears its site, `seconds` after time 0.
#[track_caller]
fn check(fleet: &Fleet, seconds: u64, expected: &[&str]) {
    assert_eq!(texts(fleet, Timestamp(seconds * 1_000)), expected);
}

pub(crate) fn synced(plant: &Plant) -> Central {
    let mut central = Central::new();
    central.sync(plant);
    central
}

fn texts(fleet: &Fleet, now: Timestamp) -> Vec<String> {
    whys(fleet, "hello", now).iter().map(|it| it.text(now)).collect()
}

pub(crate) fn names(fleet: &Fleet, deployment: &str, now: Timestamp) -> Vec<&'static str> {
    whys(fleet, deployment, now).iter().map(|it| it.cause.name()).collect()
}

fn whys(fleet: &Fleet, deployment: &str, now: Timestamp) -> Vec<Why> {
    fleet.why(&home(), &name(deployment), None, now).expect("home exists")
}
