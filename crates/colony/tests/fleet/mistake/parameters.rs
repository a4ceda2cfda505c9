//! Parameters that do not fit the application: refused before anything is
//! written, with the parameter's name and what would be right.

use crate::kit::{Fleet, Shop};

#[test]
fn unknown_parameter() {
    check("intervall=30", "parameter `intervall` does not exist; expected one of `interval`");
}

#[test]
fn value_out_of_range() {
    check("interval=90", "parameter `interval` is `90`; expected at most 60");
}

/// What runs keeps its values, and takes good ones.
#[track_caller]
fn check(setting: &str, sentence: &str) {
    let (fleet, shop) = (Fleet::small(), Shop::open());
    shop.put("pump", "1.0", &Shop::good()).serve(&fleet);
    fleet.colony(["deploy", "pump", "--watch", "--yes"]).ok().says("INSTALLED 1.0");
    let (before, containers) = (fleet.json(["deployment", "show", "pump"]), fleet.containers());

    let refused = fleet.colony(["deploy", "pump", "--set", setting, "--yes"]);

    refused.ends(1).says(sentence);
    assert_eq!(fleet.json(["deployment", "show", "pump"]), before);
    assert_eq!(fleet.containers(), containers);
    fleet.colony(["deploy", "pump", "--set", "interval=60", "--watch", "--yes"]).ok();
}
