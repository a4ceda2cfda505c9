//! Nodes on which a deployment does not fit.

use super::*;

#[test]
fn architecture_is_another_one() {
    let mut plant = plant("a b c");
    let arm = "capacityRequirements:\n  cpu: {cores: 1, architectures: [arm64]}";
    plant.deploy(&hello("1.0.0").needing(arm));
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: 3 nodes (a, b and c): needs architecture arm64, device has amd64. Next: it is placed on the first node that fits. To do (author of the file in Git): change what the file asks for, or add a node that fits.");
}

#[test]
fn label_has_another_value_or_is_missing() {
    let mut plant = plant("a");
    plant.join_with("b", "amd64", r#""zone":"south""#);
    plant.deploy(&hello("1.0.0").with("selector: {zone: north}"));
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node a: needs label zone=north, device has no such label; node b: needs label zone=north, device has zone=south. Next: it is placed on the first node that fits. To do (author of the file in Git): change what the file asks for, or add a node that fits.");
}

#[test]
fn profile_type_is_not_supported() {
    let mut plant = plant("a");
    plant.deploy(&App { kind: "helm".to_owned(), ..hello("1.0.0") });
    assert_snapshot!(hello_whole(&plant), @"hello: no node fits: node a: needs profile type helm, device supports compose. Next: it is placed on the first node that fits. To do (author of the file in Git): change what the file asks for, or add a node that fits.");
}

#[test]
fn named_node_has_not_joined() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0").on("press-7"));
    assert_snapshot!(hello_whole(&plant), @"hello: its file names node press-7, which has not joined this site. Next: it is placed when node press-7 joins. To do (author of the file in Git): name another node, or let node press-7 join.");
}

#[test]
fn site_has_no_nodes() {
    let mut plant = plant("");
    plant.deploy(&hello("1.0.0"));
    assert_snapshot!(hello_whole(&plant), @"hello: no node has joined this site. Next: deployments are placed when a node joins. To do (site engineer): invite a node and let it join this site.");
    assert_snapshot!(site(&plant), @"site home: no node has joined this site. Next: deployments are placed when a node joins. To do (site engineer): invite a node and let it join this site.");
}

#[test]
fn replicas_cannot_be_fulfilled() {
    let mut plant = plant("a b");
    plant.join_with("c", "arm64", "");
    let amd = "capacityRequirements:\n  cpu: {cores: 1, architectures: [amd64]}";
    plant.deploy(&hello("1.0.0").with("replicas: 3").needing(amd));
    plant.converge();
    assert_snapshot!(hello_whole(&plant), @"hello: 3 replicas are wanted, 2 placed (a and b); node c: needs architecture amd64, device has arm64. Next: the next one is placed on the first node that fits. To do (author of the file in Git): ask for fewer replicas, or add nodes that fit.");
}

#[test]
fn node_no_longer_meets_the_constraints() {
    let mut plant = plant("a");
    let amd = "capacityRequirements:\n  cpu: {cores: 1, architectures: [amd64]}";
    plant.deploy(&hello("1.0.0").needing(amd));
    plant.converge();
    let changed = capabilities("a", "arm64", "");
    plant.must(Input::Capabilities(name("a"), Box::new(changed)));
    assert_snapshot!(on(&plant, "a"), @"hello on a runs 1.0.0 (INSTALLED for 0 s): node a would not get it again: needs architecture amd64, device has arm64. Next: it keeps running there; nothing is evicted. To do (author of the file in Git): change what the file asks for, or choose another node.");
}

#[test]
fn replicas_are_more_than_there_are_nodes() {
    let mut plant = plant("a b");
    plant.deploy(&hello("1.0.0").with("replicas: 3"));
    plant.converge();
    assert_snapshot!(hello_whole(&plant), @"hello: 3 replicas are wanted, 2 placed (a and b); the site has no more nodes. Next: the next one is placed on the first node that fits. To do (author of the file in Git): ask for fewer replicas, or add nodes that fit.");
}

#[test]
fn replicas_that_are_all_placed_need_no_answer() {
    let mut plant = plant("a b c");
    plant.deploy(&hello("1.0.0").with("replicas: 2"));
    plant.converge();
    assert_eq!(hello_whole(&plant), "");
}
