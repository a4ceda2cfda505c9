//! A registry with a password that the node does not have.

use crate::kit::{Fleet, Shop, wait};

#[test]
fn password_that_the_node_does_not_have() {
    let mut fleet = Fleet::central(&[]);
    let file = fleet.path().join("auth.json");
    fleet.node_flags = ["--registry-credentials", file.to_str().unwrap()].map(str::to_owned).into();
    let fleet = fleet.with_node();
    let mut shop = Shop::open();
    shop.put("pump", "1.0", &Shop::good()).serve(&fleet);
    shop.require_login("ann", "s3cr3t");

    fleet.colony(["deploy", "pump", "--yes"]).ok();

    let host = &shop.gate.address;
    let reason =
        format!("there are no credentials for `{host}` in {} (does not exist)", file.display());
    wait("the refusal", || {
        let why = fleet.colony(["why", "pump"]);
        Some(()).filter(|()| why.out.contains("registry-denied") && why.out.contains(&reason))
    });
    wait("the health of the node", || {
        Some(()).filter(|()| fleet.json(["node", "show", "home/n1"])["ready"] == true)
    });

    // The password is ann:s3cr3t. The node is not restarted.
    let auths = format!("{{\"auths\": {{\"{host}\": {{\"auth\": \"YW5uOnMzY3IzdA==\"}}}}}}");
    std::fs::write(&file, auths).unwrap();
    fleet.colony(["deployment", "retry", "pump"]).ok();
    fleet.see("pump", |it| it["outcome"] == "installed");
    assert!(!fleet.colony(["why", "pump"]).out.contains("s3cr3t"));
}
