//! An image that does not exist: the version before goes on running, and the
//! bad one is refused until an operator releases it.

use crate::kit::{Fleet, Shop, web};

#[test]
fn image_that_does_not_exist() {
    let (fleet, shop) = (Fleet::small(), Shop::open());
    shop.put("pump", "1.0", &Shop::good());
    shop.put("pump", "1.1", &web(&["image: SHOP/nothing:1"])).serve(&fleet);
    let first = ["deploy", "pump", "--version", "1.0", "--watch", "--yes"];
    fleet.colony(first).ok().says("INSTALLED 1.0");
    let containers = fleet.containers();

    let said = fleet.colony(["deploy", "pump", "--version", "1.1", "--watch", "--yes"]);

    said.ends(3)
        .says("ROLLED BACK to 1.0: home/n1 image-missing (could not fetch the image")
        .says("/nothing:1");
    // What runs was never touched: the image is looked for first.
    assert_eq!(fleet.containers(), containers);
    fleet.colony(["quarantine", "list"]).ok().says("1.1");
    fleet.hello_installs();
}
