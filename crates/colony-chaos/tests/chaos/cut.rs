//! Packets are dropped between two parts that live on networks of their own.
//!
//! Every part has a namespace with one end of a cable; the other ends meet in
//! a bridge in a namespace of its own, where nobody else filters. A cut drops
//! what two of them say to each other, silently, as a broken network does: no
//! connection is refused and none is closed.

use std::collections::BTreeMap;
use std::process::Command;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::{Fleet, Place, wait};

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_is_cut_off_from_its_site() {
    let net = Net::lay();
    let mut bed = net.bed("packets dropped", "node – local");
    net.cut("home/n1", "home");
    bed.faults(1);
    assert_eq!(bed.deploy("job"), 0);
    bed.known("job");
    let offline = || Some(()).filter(|()| bed.fleet.presence("home/n1") == "offline");
    wait("the loss of the node to be noticed", offline);
    bed.why("job", "");
    bed.over();
    net.mend("home/n1");
    bed.end(&["job", KEPT]);
}

/// The site works on by itself.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_is_cut_off_from_the_fleet() {
    let net = Net::lay();
    let mut bed = net.bed("packets dropped", "local – central");
    bed.install("job");
    let own = bed.fresh();
    net.cut("home", "central");
    bed.faults(1);
    assert_eq!(bed.deploy("second"), 0);
    bed.break_at_site("job", &own[0]);
    bed.why("second", "");
    bed.over();
    net.mend("home");
    bed.end(&["job", "second", KEPT]);
}

/// Namespaces, cables and a bridge of this test alone.
struct Net {
    /// Short: names of devices have 15 letters.
    id: String,
    subnet: String,
}

const PARTS: [(&str, &str); 3] = [("central", "c"), ("home", "l"), ("home/n1", "n")];

impl Net {
    fn lay() -> Net {
        let number = std::process::id() % 200;
        let net = Net { id: format!("ch{number}"), subnet: format!("10.233.{number}") };
        net.clear();
        let Net { id, subnet } = &net;
        run(&format!("ip netns add {id}"));
        run(&format!("ip -n {id} link add bridge type bridge"));
        run(&format!("ip -n {id} link set bridge up"));
        // One more end is in the test's own hand, for the operator.
        run(&format!("ip link add {id} type veth peer name own netns {id}"));
        run(&format!("ip addr add {subnet}.254/24 dev {id}"));
        run(&format!("ip link set {id} up"));
        run(&format!("ip -n {id} link set own master bridge up"));
        for (index, (_, letter)) in PARTS.iter().enumerate() {
            net.cable(letter, index + 1);
        }
        net
    }

    fn cable(&self, letter: &str, host: usize) {
        let Net { id, subnet } = self;
        let space = format!("{id}{letter}");
        run(&format!("ip netns add {space}"));
        run(&format!("ip -n {id} link add to-{letter} type veth peer name eth0 netns {space}"));
        run(&format!("ip -n {id} link set to-{letter} master bridge up"));
        run(&format!("ip -n {space} addr add {subnet}.{host}/24 dev eth0"));
        run(&format!("ip -n {space} link set eth0 up"));
        run(&format!("ip -n {space} link set lo up"));
    }

    fn bed(&self, fault: &str, role: &str) -> Bed {
        let place = |(part, letter): (&str, &str)| {
            let place = Place { namespace: format!("{}{letter}", self.id), ip: self.ip(part) };
            (part.to_owned(), place)
        };
        let places: BTreeMap<String, Place> = PARTS.into_iter().map(place).collect();
        let fleet = Fleet::central_with(places, &[]).with_node_on(Engine::podman());
        Bed::prepared(fleet, fault, role)
    }

    fn ip(&self, part: &str) -> String {
        let host = PARTS.iter().position(|it| it.0 == part).unwrap() + 1;
        format!("{}.{host}", self.subnet)
    }

    fn space(&self, part: &str) -> String {
        let letter = PARTS.iter().find(|it| it.0 == part).unwrap().1;
        format!("{}{letter}", self.id)
    }

    /// Nothing passes between the two any more.
    fn cut(&self, part: &str, other: &str) {
        let (space, ip) = (self.space(part), self.ip(other));
        run(&format!("ip netns exec {space} iptables -w -A INPUT -s {ip} -j DROP"));
        run(&format!("ip netns exec {space} iptables -w -A OUTPUT -d {ip} -j DROP"));
    }

    fn mend(&self, part: &str) {
        run(&format!("ip netns exec {} iptables -w -F", self.space(part)));
    }

    fn clear(&self) {
        for (_, letter) in PARTS {
            try_run(&format!("ip netns del {}{letter}", self.id));
        }
        try_run(&format!("ip link del {}", self.id));
        try_run(&format!("ip netns del {}", self.id));
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.clear();
    }
}

#[track_caller]
fn run(line: &str) {
    let output = command(line).output().expect("ip is missing: apt-get install -y iproute2");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What is not there need not be removed.
fn try_run(line: &str) {
    let _ = command(line).output();
}

fn command(line: &str) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}
