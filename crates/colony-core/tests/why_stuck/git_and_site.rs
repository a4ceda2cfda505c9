//! Broken files, held commits, orchestrators that must not act.

use super::*;

#[test]
fn file_is_broken() {
    let mut plant = installed("a");
    let broken =
        hello("2.0.0").text(plant.site.name()).replace("deviceId: home/", "deviceId: away/");
    commit_text(&mut plant, "deployments/home/hello.yaml", &broken);
    assert_snapshot!(hello_whole(&plant), @"hello: a file in Git cannot be used and 1.0.0 stays in force: deployments/home/hello.yaml:5:13: metadata.deviceId: `away/*` names no node of this site; expected `home/*` or `home/<node>`. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
    assert_snapshot!(site(&plant), @"site home: a file in Git cannot be used and 1.0.0 stays in force: deployments/home/hello.yaml:5:13: metadata.deviceId: `away/*` names no node of this site; expected `home/*` or `home/<node>`. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
}

#[test]
fn file_was_broken_from_the_start() {
    let mut plant = plant("a");
    commit_text(&mut plant, "deployments/home/hello.yaml", "id: [\n");
    assert_snapshot!(hello_whole(&plant), @"hello: a file in Git cannot be used: deployments/home/hello.yaml:1:5: YAML cannot be read here: unclosed bracket '['; expected valid YAML. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
}

#[test]
fn two_files_have_one_id() {
    let mut plant = installed("a");
    let twin = hello("1.0.0").text(plant.site.name());
    commit_text(&mut plant, "deployments/home/twin.yaml", &twin);
    assert_snapshot!(whole(&plant, "twin"), @"twin: a file in Git cannot be used: deployments/home/twin.yaml:1:1: the id 2cf24dba-5fb0-430e-86e8-3b2ac5b9e29e is that of deployment `hello`; expected an id of its own. Next: the file is read again with the commit that corrects it. To do (author of the file in Git): commit a corrected file.");
}

#[test]
fn mass_removal_is_held() {
    let mut plant = installed("a");
    for app in ["one", "two", "three"] {
        plant.deploy(&App::new(app, "1.0.0"));
    }
    plant.converge();
    let gone =
        ["one", "two", "three"].map(|it| File::removed(&format!("deployments/home/{it}.yaml")));
    plant.commit(gone.to_vec());
    assert_snapshot!(site(&plant), @"site home: the removal of 3 deployments at once (one, three and two), more than half, is held. Next: they keep running until the removal is released. To do (operator): release the removal, or put the files back.");
    assert_snapshot!(whole(&plant, "two"), @"two: the removal of 3 deployments at once (one, three and two), more than half, is held. Next: they keep running until the removal is released. To do (operator): release the removal, or put the files back.");
}

#[test]
fn rewritten_history_is_held() {
    let mut plant = installed("a");
    let revision = "9f".repeat(20).parse().expect("a commit");
    let commit = Commit { revision, base: None, rewritten: true, files: vec![] };
    let _ = plant.step(Input::Commit(commit));
    assert_snapshot!(site(&plant), @"site home: Git's history was rewritten; 9f9f9f9 waits to be accepted, 0000000 is in force. Next: nothing of 9f9f9f9 is applied until it is accepted. To do (operator): accept history 9f9f9f9 or restore the old one.");
    assert_snapshot!(whole(&plant, "newcomer"), @"site home: Git's history was rewritten; 9f9f9f9 waits to be accepted, 0000000 is in force. Next: nothing of 9f9f9f9 is applied until it is accepted. To do (operator): accept history 9f9f9f9 or restore the old one.");
}

#[test]
fn orchestrator_is_fenced() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.must(Input::Fenced { by: 3 });
    assert_snapshot!(site(&plant), @"site home: this orchestrator was replaced by incarnation 3 and changes nothing. Next: nodes follow the orchestrator that replaced it. To do (site engineer): stop this orchestrator, or let it join again.");
    assert_snapshot!(on(&plant, "a"), @"hello on a is updating to 2.0.0 (UPDATING for 0 s): this orchestrator was replaced by incarnation 3 and changes nothing. Next: nodes follow the orchestrator that replaced it. To do (site engineer): stop this orchestrator, or let it join again.");
}

#[test]
fn orchestrator_has_not_been_seeded() {
    let plant = Plant::unseeded(1);
    assert_snapshot!(site(&plant), @"site home: the central orchestrator has not sent the state of this site yet. Next: nodes are served once their state and Git are read. To do (site engineer): check the connection to the central orchestrator.");
    assert_snapshot!(hello_whole(&plant), @"site home: the central orchestrator has not sent the state of this site yet. Next: nodes are served once their state and Git are read. To do (site engineer): check the connection to the central orchestrator.");
}

#[test]
fn git_has_not_been_read() {
    let mut plant = Plant::unseeded(1);
    plant.must(Input::Seed(Box::default()));
    assert_snapshot!(site(&plant), @"site home: Git has not been read yet. Next: nodes are served once Git is read. To do (site engineer): check the connection to the Git repository.");
}
