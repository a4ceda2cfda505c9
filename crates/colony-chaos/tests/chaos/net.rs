//! Networks for parts of a fleet.
//!
//! Every part has a namespace with one end of a cable; the other ends meet in
//! a bridge in a namespace of its own, where nobody else filters. A cut drops
//! what two of them say to each other, silently, as a broken network does: no
//! connection is refused and none is closed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::bed::Bed;
use crate::engines::Engine;
use crate::kit::{Fleet, Gate, RoleNetwork, free_port, git};

/// Namespaces, cables and a bridge of this test alone.
pub(crate) struct Net {
    /// Short: names of devices have 15 letters.
    id: String,
    subnet: String,
}

const PARTS: [(&str, &str); 3] = [("central", "c"), ("home", "l"), ("home/n1", "n")];

impl Net {
    pub(crate) fn lay() -> Net {
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
        // Servers that are no part of the fleet have an address of their own.
        run(&format!("ip addr add {subnet}.253/24 dev {id}"));
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

    pub(crate) fn bed(&self, fault: &str, role: &str) -> Bed {
        let fleet = Fleet::central_with(self.places(), &[]).with_node_on(Engine::podman());
        Bed::prepared(fleet, fault, role)
    }

    /// Where the parts of a fleet live.
    pub(crate) fn places(&self) -> BTreeMap<String, RoleNetwork> {
        let place = |(part, letter): (&str, &str)| {
            let place =
                RoleNetwork { namespace: format!("{}{letter}", self.id), ip: self.ip(part) };
            (part.to_owned(), place)
        };
        PARTS.into_iter().map(place).collect()
    }

    /// Where servers are that are no part of the fleet.
    pub(crate) fn server(&self) -> String {
        format!("{}.253", self.subnet)
    }

    /// A way to a server of this machine that the parts can reach.
    pub(crate) fn gate_to(&self, target: &str) -> Gate {
        let mut gate = Gate::open(target);
        gate.shut();
        gate.address = format!("{}:{}", self.server(), free_port());
        gate.reopen();
        gate
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
    pub(crate) fn cut(&self, part: &str, other: &str) {
        self.cut_from(part, &self.ip(other));
    }

    /// The same of an address.
    pub(crate) fn cut_from(&self, part: &str, ip: &str) {
        let space = self.space(part);
        run(&format!("ip netns exec {space} iptables -w -A INPUT -s {ip} -j DROP"));
        run(&format!("ip netns exec {space} iptables -w -A OUTPUT -d {ip} -j DROP"));
    }

    pub(crate) fn mend(&self, part: &str) {
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

/// Git over HTTP, with what Debian has: busybox for HTTP, git for the rest.
pub(crate) struct GitServer {
    pub(crate) url: String,
    child: Child,
}

impl GitServer {
    /// Serves the new and empty repository `fleet.git` of the folder.
    pub(crate) fn start(folder: &Path, ip: &str) -> GitServer {
        git(folder, &["init", "-q", "--bare", "-b", "main", "fleet.git"]);
        git(&folder.join("fleet.git"), &["config", "http.receivepack", "true"]);
        fs::create_dir(folder.join("cgi-bin")).unwrap();
        let script = folder.join("cgi-bin/git");
        let root = folder.display();
        let lines = [
            "#!/bin/sh".to_owned(),
            format!("export GIT_PROJECT_ROOT={root} GIT_HTTP_EXPORT_ALL=1"),
            "exec git http-backend\n".to_owned(),
        ];
        fs::write(&script, lines.join("\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let address = format!("{ip}:{}", free_port());
        let url = format!("http://{address}/cgi-bin/git/fleet.git");
        let mut server = Command::new("setpriv");
        server.args(["--pdeathsig", "KILL", "busybox", "httpd", "-f", "-p", &address, "-h"]);
        let child = server.arg(folder).stdin(Stdio::null()).spawn().unwrap();
        GitServer { url, child }
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
