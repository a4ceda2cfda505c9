//! A deployment that is deleted with its volumes, and one that is not.

use std::path::Path;

use crate::kit::{Fleet, Shop, wait, web};

#[test]
fn deleted_volumes_are_gone_and_kept_ones_are_found_again() {
    let shop = Shop::open();
    let notes = web(&[
        "image: SHOP/busybox:1",
        "command: [sh, -c, 'echo ran >> /data/runs; sleep 3600']",
        "volumes: ['data:/data']",
    ]);
    shop.put("notes", "1.0", &format!("{notes}volumes: {{ data: {{}} }}\n"));
    let mut fleet = Fleet::small();
    shop.serve(&fleet);
    install(&fleet);
    assert_eq!(runs(&fleet), Some(1));

    fleet.colony(["deployment", "delete", "notes", "--watch", "--yes"]).ok();
    install(&fleet);
    assert_eq!(runs(&fleet), Some(2), "the volume was kept");

    // The intent survives every role, and a node that is away.
    fleet.process("home/n1").kill();
    fleet
        .colony(["deployment", "delete", "notes", "--purge", "--dry-run"])
        .ends(2)
        .says("purge home/n1");
    fleet.colony(["deployment", "delete", "notes", "--purge", "--yes"]).ok();
    for part in ["central", "home"] {
        fleet.process(part).kill();
        fleet.process(part).restart();
    }
    fleet.central_answers();
    fleet.colony(["deploy", "notes", "--site", "home", "--yes"]).ok();
    wait("the next deployment to wait for the purge", || {
        let why = fleet.json(["why", "notes"]).to_string();
        why.contains("purge-first").then_some(())
    });
    assert_eq!(runs(&fleet), Some(2), "the node is away");
    fleet.process("home/n1").restart();
    fleet.see("notes", |it| it["outcome"] == "installed");
    assert_eq!(runs(&fleet), Some(1), "it began with an empty volume");

    fleet.colony(["deployment", "delete", "notes", "--purge", "--watch", "--yes"]).ok();
    assert_eq!(runs(&fleet), None);
}

#[track_caller]
fn install(fleet: &Fleet) {
    fleet.colony(["deploy", "notes", "--site", "home", "--watch", "--yes"]).ok().says("INSTALLED");
}

/// How often the workload was started with its volume; `None` without one.
fn runs(fleet: &Fleet) -> Option<usize> {
    let volumes = fleet.engine.as_ref().unwrap().ask("GET", "/volumes");
    let volumes = volumes["Volumes"].as_array().cloned().unwrap_or_default();
    let own = volumes.iter().find(|it| it["Name"] == "colony-n1-notes-web-data")?;
    let path = Path::new(own["Mountpoint"].as_str().unwrap()).join("runs");
    Some(std::fs::read_to_string(path).unwrap().lines().count())
}
