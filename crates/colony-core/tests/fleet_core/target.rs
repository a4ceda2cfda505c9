//! What CO has written stands until the site has it, and then until the site has something else.

use colony_core::fleet::CentralChange;

use crate::kit::story::app;
use crate::kit::{Central, name};
use crate::replacement::succeed;
use crate::status::{check, commit, file, start};

#[test]
fn commit_is_pending_though_the_site_takes_another_file() {
    let (mut central, mut plant) = start();
    commit(&mut central, Some(file("2.0.0")));
    plant.deploy(&app("1.0.0"));
    central.sync(&plant);
    check(&central, "PENDING");
    plant.deploy(&app("2.0.0"));
    central.sync(&plant);
    check(&central, "WAITING");
}

#[test]
fn what_was_written_is_known_until_somebody_else_writes() {
    let (mut central, mut plant) = start();
    let taken = |central: &Central| {
        let target = central.view().central_changes.get(&name("hello"));
        matches!(target, Some(CentralChange::Accepted { blob, .. }) if *blob == Some(file("1.0.0")))
    };
    commit(&mut central, Some(file("1.0.0")));
    plant.deploy(&app("1.0.0"));
    central.sync(&plant);
    assert!(taken(&central), "the site has it");

    let (mut next, left_out) = succeed(&mut central, &plant, &[app("1.0.0")], |_| None);
    assert_eq!(left_out.len(), 1);
    central.sync(&next);
    assert!(taken(&central), "the next orchestrator takes the same file");

    next.deploy(&app("2.0.0"));
    central.sync(&next);
    assert!(central.view().central_changes.is_empty(), "{:?}", central.view().central_changes);
}
