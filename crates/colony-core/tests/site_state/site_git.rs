//! What commits do to a site: good ones, broken ones, suspicious ones.

use colony_core::event::Body;
use colony_core::site::{Action, Commit, Content, File, Input, Refused};
use colony_testkit::{App, Plant, blob, commit_id, deployment_id};

#[test]
fn broken_file_is_a_finding_and_holds_up_nothing_else() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let good = App::new("other", "1.0.0").file(plant.site.name());
    plant.commit(vec![broken("hello", "id: 7\nmetadata: {}\n"), good]);
    check(&plant, "hello@a INSTALLED 1.0.0, other@a INSTALLING 1.0.0");

    let findings = &plant.site.refused_files()["deployments/home/hello.yaml"].findings;
    assert!(findings.len() > 1, "all mistakes at once: {findings:?}");
    assert!(findings.iter().any(|it| (it.line, it.column) == (1, 5)), "{findings:?}");

    plant.deploy(&App::new("hello", "1.1.0"));
    assert!(plant.site.refused_files().is_empty(), "a good file clears the finding");
    check(&plant, "hello@a UPDATING 1.1.0, other@a INSTALLING 1.0.0");
}

#[test]
fn broken_file_of_nobody_can_be_removed() {
    let mut plant = plant();
    plant.commit(vec![broken("unknown", "{")]);
    plant.undeploy("unknown");
    assert!(plant.site.refused_files().is_empty());
}

#[test]
fn file_for_another_site_is_refused() {
    let mut plant = plant();
    let elsewhere = "other".parse().expect("a name");
    let text = App::new("hello", "1.0.0").text(&elsewhere);
    plant.commit(vec![broken("hello", &text)]);
    let findings = &plant.site.refused_files()["deployments/home/hello.yaml"].findings;
    assert_eq!(
        findings[0].to_string(),
        "deployments/home/hello.yaml:5:13: metadata.deviceId: `other/*` names no node of this \
         site; expected `home/*` or `home/<node>`"
    );
}

#[test]
fn name_that_is_no_name_is_refused() {
    let file = File::read(
        &"home".parse().expect("a name"),
        "deployments/home/Hello World.yaml",
        &blob(""),
        b"",
    );
    let Content::Refused(findings) = file.content else { panic!("{file:?}") };
    assert!(findings[0].problem.contains("has `H`"), "{findings:?}");
}

#[test]
fn an_id_belongs_to_one_file() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    let copy = App::new("hello", "2.0.0").text(plant.site.name());
    plant.commit(vec![broken("copy", &copy)]);
    check(&plant, "hello@a INSTALLING 1.0.0");
    let finding = &plant.site.refused_files()["deployments/home/copy.yaml"].findings[0];
    assert!(finding.problem.contains("is that of deployment `hello`"), "{finding}");
}

#[test]
fn renamed_file_restarts_nothing() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let text = App::new("hello", "1.0.0").text(plant.site.name());
    let old = File::removed("deployments/home/hello.yaml");
    plant.commit(vec![old, broken("greeting", &text)]);
    check(&plant, "greeting@a INSTALLED 1.0.0");
}

#[test]
fn name_that_was_left_is_free_for_another() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let (first, other) = (text(&plant, "hello"), text(&plant, "other"));
    plant.commit(vec![File::removed("deployments/home/hello.yaml"), broken("greeting", &first)]);
    plant.commit(vec![broken("hello", &other)]);
    plant.converge();
    check(&plant, "greeting@a INSTALLED 1.0.0, hello@a INSTALLED 1.0.0");
}

#[test]
fn two_files_may_exchange_their_content_at_once() {
    for names in [["hello", "other"], ["other", "hello"]] {
        let mut plant = plant();
        let texts = names.map(|it| text(&plant, it));
        let files = |order: [&str; 2]| vec![broken("hello", order[0]), broken("other", order[1])];
        plant.commit(files([&texts[0], &texts[1]]));
        plant.converge();
        plant.commit(files([&texts[1], &texts[0]]));
        assert!(plant.site.refused_files().is_empty(), "{:?}", plant.site.refused_files());
        check(&plant, "hello@a INSTALLED 1.0.0, other@a INSTALLED 1.0.0");
    }
}

#[test]
fn file_may_take_an_id_that_its_old_file_leaves_at_once() {
    for name in ["a-before", "z-behind"] {
        let mut plant = plant();
        plant.deploy(&App::new("hello", "1.0.0"));
        plant.converge();
        let (first, other) = (text(&plant, "hello"), text(&plant, "other"));
        plant.commit(vec![broken(name, &first), broken("hello", &other)]);
        assert!(plant.site.refused_files().is_empty(), "{:?}", plant.site.refused_files());
        let id = plant.site.deployment(&deployment_id("hello")).expect("it stays");
        assert_eq!((id.name.as_str(), id.is_withdrawn()), (name, false));
    }
}

#[test]
fn removing_most_deployments_at_once_waits_for_a_person() {
    let mut plant = plant();
    for name in ["one", "two", "three", "four"] {
        plant.deploy(&App::new(name, "1.0.0").with("strategy: {type: all-at-once}"));
    }
    plant.converge();
    let gone =
        ["one", "two", "three"].map(|it| File::removed(&format!("deployments/home/{it}.yaml")));
    plant.commit(gone.to_vec());
    assert_eq!(plant.site.held_removal().map_or(0, |it| it.deployments.len()), 3);
    assert!(!plant.states().contains("DELETING"), "{}", plant.states());

    plant.deploy(&App::new("two", "1.0.0"));
    assert!(plant.states().contains("DELETING"), "two removals are few enough");
    assert!(plant.states().contains("two@a INSTALLED"), "{}", plant.states());
}

#[test]
fn held_removal_happens_when_it_is_released() {
    let mut plant = plant();
    for name in ["one", "two", "three"] {
        plant.deploy(&App::new(name, "1.0.0"));
    }
    plant.converge();
    let full = Commit { revision: commit_id(99), base: None, rewritten: false, files: vec![] };
    plant.must(Input::Commit(full));
    assert_eq!(plant.site.held_removal().map_or(0, |it| it.deployments.len()), 3);
    plant.crash();
    plant.command(Action::ReleaseRemoval).expect("released");
    plant.converge();
    check(&plant, "");
    assert_eq!(
        plant.command(Action::ReleaseRemoval),
        Err("nothing to release: no removal is held at home".to_owned())
    );
}

#[test]
fn rewritten_history_waits_to_be_accepted() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    let files = vec![App::new("hello", "2.0.0").file(plant.site.name())];
    let rewrite = Commit { revision: commit_id(50), base: None, rewritten: true, files };

    let refused = plant.step(Input::Commit(rewrite.clone())).refused;
    assert_eq!(refused, Some(Refused::Rewritten { commit: commit_id(50) }));
    check(&plant, "hello@a INSTALLING 1.0.0");

    plant.command(Action::AcceptHistory { commit: commit_id(50) }).expect("accepted");
    plant.must(Input::Commit(rewrite));
    check(&plant, "hello@a INSTALLING 2.0.0");
}

#[test]
fn history_that_is_put_back_is_held_no_more() {
    let mut plant = plant();
    plant.commit(vec![]);
    let revision = plant.site.git().cloned().expect("a commit is in force");
    let rewrite = Commit { revision: commit_id(50), base: None, rewritten: true, files: vec![] };
    let _ = plant.step(Input::Commit(rewrite));
    assert!(plant.site.held_history().is_some());
    let back = Commit {
        revision: revision.clone(),
        base: Some(revision.clone()),
        rewritten: false,
        files: vec![],
    };
    plant.must(Input::Commit(back.clone()));
    assert_eq!(plant.site.held_history(), None);
    let told = plant.events.last().map(|it| it.body.clone());
    assert_eq!(told, Some(Body::HistoryAccepted { commit: revision }));
    let count = plant.events.len();
    plant.must(Input::Commit(back));
    assert_eq!(plant.events.len(), count, "what was not held is not accepted");
}

#[test]
fn difference_to_another_commit_is_refused() {
    let mut plant = plant();
    let base = Some(commit_id(77));
    let commit = Commit { revision: commit_id(78), base, rewritten: false, files: vec![] };
    let refused = plant.step(Input::Commit(commit)).refused;
    assert_eq!(
        refused.map(|it| it.to_string()),
        Some("the changes do not start at the site's commit, 0000000".to_owned())
    );
}

#[test]
fn another_id_under_the_same_name_is_another_deployment() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let text = App::new("other", "1.0.0").text(plant.site.name());
    plant.commit(vec![broken("hello", &text)]);
    check(&plant, "hello@a DELETING 1.0.0, hello@a INSTALLING 1.0.0");
    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0");
}

#[test]
fn unplaced_node_loses_the_deployment() {
    let mut plant = Plant::new();
    plant.join_with("a", "amd64", r#""line":"1""#);
    plant.join_with("b", "amd64", r#""line":"2""#);
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "1.0.0").with("selector: {line: '2'}"));
    check(&plant, "hello@a DELETING 1.0.0, hello@b INSTALLED 1.0.0");
}

#[test]
fn replicas_are_sticky_and_balanced() {
    let mut plant = Plant::new();
    plant.join("a");
    plant.join("b");
    plant.deploy(&App::new("first", "1.0.0").with("replicas: 1"));
    plant.deploy(&App::new("second", "1.0.0").with("replicas: 1"));
    plant.converge();
    check(&plant, "first@a INSTALLED 1.0.0, second@b INSTALLED 1.0.0");
    plant.join("c");
    plant.deploy(&App::new("first", "2.0.0").with("replicas: 2"));
    plant.converge();
    check(&plant, "first@a INSTALLED 2.0.0, first@c INSTALLED 2.0.0, second@b INSTALLED 1.0.0");
    plant.deploy(&App::new("first", "2.0.0").with("replicas: 1"));
    plant.converge();
    check(&plant, "first@a INSTALLED 2.0.0, second@b INSTALLED 1.0.0");
}

#[test]
fn lost_eligibility_evicts_nobody() {
    let mut plant = plant();
    let needs = "capacityRequirements: {cpu: {cores: 1, architectures: [amd64]}}";
    plant.deploy(&App::new("hello", "1.0.0").needing(needs));
    plant.converge();
    let capabilities = colony_testkit::capabilities("a", "arm64", "");
    let node = "a".parse().expect("a name");
    plant.must(Input::Capabilities(node, Box::new(capabilities)));
    check(&plant, "hello@a INSTALLED 1.0.0");
}

fn plant() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant
}

/// Whatever `text` is, under this name.
fn text(plant: &Plant, name: &str) -> String {
    App::new(name, "1.0.0").text(plant.site.name())
}

fn broken(name: &str, text: &str) -> File {
    let site = "home".parse().expect("a name");
    let path = format!("deployments/home/{name}.yaml");
    File::read(&site, &path, &blob(text), text.as_bytes())
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
