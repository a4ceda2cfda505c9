//! Which names the fleet knows, and which deployment a name means.

use colony_core::site::File;
use colony_core::time::Timestamp;
use colony_testkit::{blob, deployment_id};

use crate::kit::story::{STORIES, app, plant_after};
use crate::kit::{Central, home, name};

#[test]
fn name_is_known_as_long_as_anything_stands_for_it() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    central.sync(&plant);
    plan(&mut central);
    clear(&mut central);
    check(&central, 1, "it is installed");
    plan(&mut central);
    plant.undeploy("hello");
    plant.converge();
    central.sync(&plant);
    check(&central, 1, "it is planned");
    clear(&mut central);
    check(&central, 0, "nothing is left");
}

#[test]
fn name_means_the_deployment_that_stays() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    let (old, new) = (deployment_id("hello"), deployment_id("another"));
    plant.commit(vec![with_id(new.as_str())]);
    central.sync(&plant);
    let (view, hello) = (central.view(), name("hello"));
    let mut named = view.deployments_named(&hello);
    assert!(named.any(|it| it.id == old && it.withdrawn), "{}", plant.states());
    assert_eq!(view.deployment_named(&hello).map(|it| &it.id), Some(&new));
}

/// The file of `hello` with the id of another deployment.
fn with_id(id: &str) -> File {
    let text = app("2.0.0").text(&home()).replace(&deployment_id("hello").to_string(), id);
    File::read(&home(), "deployments/home/hello.yaml", &blob(&text), text.as_bytes())
}

fn plan(central: &mut Central) {
    central.fleet.change_planned(&home(), &name("hello"), Timestamp(1)).expect("home exists");
    central.persist_rest();
}

fn clear(central: &mut Central) {
    central.fleet.change_dropped(&home(), &name("hello")).expect("home exists");
    central.persist_rest();
}

/// So many names are known, and as many after a restart.
#[track_caller]
fn check(central: &Central, expected: usize, why: &str) {
    assert_eq!(central.fleet.deployment_names().count(), expected, "{why}");
    assert_eq!(central.fleet.sites_of(&name("hello")).count(), expected, "{why}");
    assert_eq!(central.restored(), central.fleet, "{why}");
}
