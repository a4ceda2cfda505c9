//! The recorded log of a small story, applied to the core again, ends in the state
//! that the product shows.

use std::collections::BTreeMap;

use colony_core::event::{self, Event, Log};
use colony_core::fleet::Fleet as Core;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use serde_json::Value;

use crate::engines::Engine;
use crate::kit::{Fleet, Shop, web};

/// Installed, updated, rolled back and deleted, at two sites, on docker.
#[test]
fn a_recorded_log_replays_to_the_same_state() {
    let mut fleet = Fleet::central(&[]).with_node_on(Engine::docker());
    fleet.site("mill");
    fleet.node("mill", "m1");
    let shop = Shop::open();
    shop.put("pump", "1.0", &Shop::good()).put("pump", "1.1", &Shop::good());
    let bad = web(&["image: SHOP/busybox:1", "command: ['false']"]);
    shop.put("pump", "1.2", &bad).serve(&fleet);
    deploy(&fleet, "pump 1.0 home,mill", 0);
    deploy(&fleet, "gone 1.0 home", 0);
    deploy(&fleet, "pump 1.1 mill", 0);
    deploy(&fleet, "pump 1.2 home", 3);
    fleet.colony(["deployment", "delete", "gone", "--watch", "--yes"]).ok();

    let core = replayed(&fleet.json(["event", "--last", "1000"]));

    let shown = shown(&fleet.json(["deployment", "show", "pump"]));
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert_eq!(placements_of(&core), shown);
}

/// Types `<name> <version> <sites>`.
#[track_caller]
fn deploy(fleet: &Fleet, what: &str, code: i32) {
    let mut words = what.split(' ');
    let mut word = || words.next().unwrap();
    let (name, version, site) = (word(), word(), word());
    let deploy = ["deploy", "pump", "--name", name, "--version", version, "--site", site];
    fleet.type_in(&[&deploy[..], &["--watch", "--yes"]].concat()).ends(code);
}

/// Every site's log, checked link by link, through a core that knew nothing.
pub(crate) fn replayed(page: &Value) -> Core {
    let of_site = |it: &Value| serde_json::from_value::<Event>(it["body"].clone()).ok();
    let mut logs: BTreeMap<SiteName, Vec<Event>> = BTreeMap::new();
    for event in page["events"].as_array().unwrap().iter().filter_map(of_site) {
        logs.entry(event.site.clone()).or_default().push(event);
    }
    let mut core = Core::new();
    for (site, log) in logs {
        event::verify(Log::new(site.clone(), 0), &log).expect("an unbroken log");
        core.site_add(&site);
        core.join(&site, Timestamp(0), false).expect("a site without an orchestrator");
        let applied = core.apply(&site, &log, Timestamp(0)).expect("a log in order");
        assert_eq!(applied.fresh.len(), log.len());
    }
    core
}

/// State and attempt by `<site>/<node>`, as the core has them.
fn placements_of(core: &Core) -> BTreeMap<String, (String, u64)> {
    let mut told = BTreeMap::new();
    for (site, view) in core.sites() {
        for (node, it) in view.placements.values().flatten() {
            told.insert(format!("{site}/{node}"), (it.state.to_string(), it.attempt.into()));
        }
    }
    told
}

/// The same as the product shows it.
fn shown(view: &Value) -> BTreeMap<String, (String, u64)> {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let mut shown = BTreeMap::new();
    for site in view["sites"].as_array().unwrap() {
        for it in site["placements"].as_array().unwrap() {
            let place = format!("{}/{}", text(&site["site"]), text(&it["node"]));
            shown.insert(place, (text(&it["state"]), it["attempt"].as_u64().unwrap()));
        }
    }
    shown
}
