//! `kill -9` of a node in the middle of a swap: the old version was told to stop
//! and has not, and nothing has taken over.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::Shop;
use crate::rollout::{STAGED, has_new, kill, waits};

const NODE: &str = "home/n1";

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_between_the_old_and_the_new() {
    let mut bed = Bed::ready(Engine::docker(), "kill -9 in a swap", "node");
    let shop = Shop::open();
    shop.put("pump", "1.0", &stubborn(3600)).put("pump", "1.1", &stubborn(3601)).serve(&bed.fleet);
    deploy(&bed, "1.0", &[]);
    bed.installed("job");
    let old = active(&bed);
    deploy(&bed, "1.1", STAGED);
    waits(&bed);
    let events = Events::of(bed.fleet.engine.as_ref().unwrap());
    bed.fleet.colony(["deployment", "promote", "job", "--site", "home"]).ok();
    events.until_stopped(&old);
    kill(&mut bed, NODE);
    let now = active(&bed);
    assert!(now.iter().all(|it| old.contains(it)), "the new one runs: it was over");
    bed.why("job", NODE);
    bed.over();
    bed.restart(NODE);
    bed.fleet.see("job", has_new);
    let now = active(&bed);
    assert!(now.iter().all(|it| !old.contains(it)) && now.len() == old.len(), "{old:?} {now:?}");
    bed.end(&["job", KEPT]);
}

/// A workload that does not listen when it is told to stop.
fn stubborn(seconds: u32) -> String {
    Shop::good()
        .replace("stop_signal: SIGKILL", "stop_grace_period: 4s")
        .replace("3600", &seconds.to_string())
}

fn deploy(bed: &Bed, version: &str, strategy: &[&str]) {
    let deploy = ["deploy", "pump", "--name", "job", "--version", version, "--yes"];
    bed.fleet.type_in(&[&deploy[..], strategy].concat()).ok();
}

/// The job's containers that run and are not staged.
fn active(bed: &Bed) -> Vec<String> {
    let active = |it: &Value| it["State"] == "running" && it["Labels"]["colony.staged"] != "true";
    bed.labelled("job", active)
}

/// What the engine says of signals to containers.
struct Events(UnixStream);

impl Events {
    fn of(engine: &Engine) -> Events {
        let mut stream = UnixStream::connect(&engine.socket).unwrap();
        let filter = "%7B%22event%22%3A%5B%22kill%22%5D%7D";
        write!(stream, "GET /events?filters={filter} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        // Its head has come: from here on nothing is missed.
        let mut head = [0; 1];
        stream.read_exact(&mut head).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
        Events(stream)
    }

    /// One of the containers got the signal to stop.
    fn until_stopped(mut self, containers: &[String]) {
        let (mut text, mut piece) = (String::new(), [0; 4096]);
        while !containers.iter().any(|it| text.contains(it.as_str())) {
            let size = self.0.read(&mut piece).expect("a container is told to stop");
            assert_ne!(size, 0, "the engine went away");
            text += &String::from_utf8_lossy(&piece[..size]);
        }
    }
}
