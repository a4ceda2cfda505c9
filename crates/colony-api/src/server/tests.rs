//! The choice of a log and of the sites of an order, as data.

use colony_core::event::HoldScope;
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentId, DeploymentName, GitRevision, SiteName};
use colony_core::margo::Problem;
use colony_core::site::{Action, Input, Site, Timing};
use colony_core::time::Timestamp;
use colony_testkit::{App, Plant};

use super::Issued;
use super::log::log_target;
use super::names::NodeTarget;
use super::order_sentence::sentence;
use super::order_targets::OrderTargets;
use crate::request::LogsQuery;

#[test]
fn log_is_of_the_one_placement_that_fits() {
    let one = fleet("installed", &["home"]);
    for (node, site, expected) in [
        ("a", "", "home/a"),
        ("home/b", "", "home/b"),
        ("home/b", "mars", "home/b"),
        ("", "", "422 hello is on several nodes: say which with `--node`; there is home/a, home/b"),
        (
            "",
            "home",
            "422 hello is on several nodes: say which with `--node`; there is home/a, home/b",
        ),
        ("c", "", "404 hello is not placed on c"),
        ("", "mars", "404 hello is not placed on mars"),
        ("A B", "", "422 "),
    ] {
        assert_log(&one, "hello", (node, site), expected);
    }
    let both = fleet("installed", &["home", "mars"]);
    assert_log(&both, "hello", ("mars/a", ""), "mars/a");
    let said = "422 hello is on several nodes: say which with `--node`; there is home/a, mars/a";
    assert_log(&both, "hello", ("a", ""), said);
    let said = "404 deployment `ghost` does not exist; there is hello";
    assert_log(&both, "ghost", ("", ""), said);
}

#[track_caller]
fn assert_log(fleet: &Fleet, name: &str, (node, site): (&str, &str), expected: &str) {
    let text = |it: &str| Some(it.to_owned()).filter(|it| !it.is_empty());
    let query = LogsQuery { node: text(node), site: text(site), ..LogsQuery::default() };
    let found = log_target(fleet, &|_| true, &Plant::name(name), &query);
    let found = found.map(|it| format!("{}/{}", it.site, it.node)).unwrap_or_else(|it| read(&it));
    assert!(found.starts_with(expected), "{node} {site}: {found}, expected {expected}");
}

#[test]
fn retry_goes_to_the_sites_that_are_selected_and_can_execute_it() {
    let one = fleet("failed", &["home"]);
    assert_retry(&one, &[], "", "home: hello is tried again where it failed");
    assert_retry(&one, &[], "a", "home: hello is tried again on node home/a");
    assert_retry(&one, &["home"], "home/a", "home: hello is tried again on node home/a");
    assert_retry(&one, &[], "c", "404 node c has not joined home");
    assert_retry(&one, &[], "home/c", "404 node c has not joined home");
    assert_retry(&one, &[], "mars/a", "404 site `mars` does not exist; there is home");
    assert_retry(&one, &["mars"], "", "404 site `mars` does not exist; there is home");

    let both = fleet("failed", &["home", "mars"]);
    assert_retry(&both, &[], "", "home, mars: hello is tried again where it failed");
    assert_retry(&both, &["mars"], "a", "mars: hello is tried again on node mars/a");
    let said = "422 several sites have a node `a`: say which; there is home/a, mars/a";
    assert_retry(&both, &[], "a", said);
    let said = "422 node home/a is not at mars, which `sites` names";
    assert_retry(&both, &["mars"], "home/a", said);

    let healthy = fleet("installed", &["home"]);
    assert_retry(&healthy, &[], "", "409 nothing to retry: hello has not failed at home");
}

/// Gives the order as a handler does, and compares its sites and its answer.
#[track_caller]
fn assert_retry(fleet: &Fleet, sites: &[&str], node: &str, expected: &str) {
    let order = || -> Result<String, Problem> {
        let name = Plant::name("hello");
        let named = sites.iter().map(|it| it.parse().expect("a site")).collect();
        let mut targets = OrderTargets { fleet, sees: &|_| true, name: &name, named };
        let node = Some(node).filter(|it| !it.is_empty()).map(NodeTarget::parse).transpose()?;
        if let Some(node) = &node {
            targets.at_node(node)?;
        }
        targets.check()?;
        let node = node.map(|it| it.node);
        let orders =
            targets.orders(|it| Action::Retry { deployment: it.clone(), node: node.clone() })?;
        let given: Vec<String> = orders.given.iter().map(|it| it.0.to_string()).collect();
        Ok(format!("{}: {}", given.join(", "), orders.answer(Issued::default()).sentence))
    };
    assert_eq!(order().unwrap_or_else(|it| read(&it)), expected, "{sites:?} {node}");
}

#[test]
fn answer_names_the_sites_that_have_not_executed_the_order() {
    let fleet = fleet("failed", &["home", "mars"]);
    let name = Plant::name("hello");
    let targets = OrderTargets { fleet: &fleet, sees: &|_| true, name: &name, named: vec![] };
    let hold = |it: &DeploymentId| Action::Hold {
        scope: HoldScope::Deployment(it.clone()),
        note: String::new(),
    };
    let orders = targets.orders(hold).expect("orders");
    let site = |it: &str| vec![it.parse().expect("a site")];
    let issued = |offline, unconfirmed| Issued { event: "e-1".to_owned(), offline, unconfirmed };

    let answer = orders.clone().answer(issued(vec![], vec![]));
    assert_eq!(
        (answer.sentence.as_str(), answer.event.as_deref()),
        ("hello is on hold", Some("e-1"))
    );
    let answer = orders.answer(issued(site("home"), site("mars"))).sentence;
    let expected = "ordered: hello is on hold; site home is offline and gets the order when it \
                    returns, within a day; site mars has not confirmed it yet";
    assert_eq!(answer, expected);
}

#[test]
fn order_about_a_site_reads_as_what_follows() {
    let commit: GitRevision = "3f2a1c0d".repeat(5).parse().expect("a commit");
    let node = || "a".parse().expect("a node");
    for (action, expected) in [
        (Action::Hold { scope: HoldScope::Site, note: String::new() }, "site home is on hold"),
        (Action::ReleaseHold { scope: HoldScope::Site }, "site home goes on"),
        (Action::ReleaseRemoval, "the removal held at site home goes on"),
        (Action::AcceptHistory { commit }, "site home accepts the rewritten history at 3f2a1c0"),
        (Action::Cordon { node: node() }, "node home/a gets no new deployments"),
        (Action::Uncordon { node: node() }, "node home/a gets deployments again"),
    ] {
        let site: SiteName = "home".parse().expect("a site");
        assert_eq!(sentence(&action, &site, None::<&DeploymentName>), expected);
    }
}

/// A fleet of these sites, each with `hello` in this state on its nodes a and b.
fn fleet(state: &str, sites: &[&str]) -> Fleet {
    let mut fleet = Fleet::new();
    for site in sites {
        let plant = plant(site, state);
        let name = plant.site.name();
        fleet.site_add(name);
        fleet.join(name, Timestamp(0), false).expect("it joins");
        let _ = fleet.apply(name, &plant.events, plant.now.wall).expect("its log");
    }
    fleet
}

fn plant(site: &str, state: &str) -> Plant {
    let mut plant = Plant::unseeded(0);
    plant.site = Site::new(site.parse().expect("a site"), 0, Timing::default());
    plant.must(Input::Seed(Box::default()));
    plant.join("a");
    plant.join("b");
    plant.deploy(
        &App::new("hello", "1.0.0").with("strategy: {type: all-at-once}\nretry: {installs: 1}"),
    );
    for node in ["a", "b"] {
        plant.report(node, "hello", state);
    }
    plant
}

fn read(problem: &Problem) -> String {
    format!("{} {}", problem.status, problem.detail.as_deref().unwrap_or_default())
}
