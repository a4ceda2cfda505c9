//! The processes of a fleet, and the commands of its operator.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::process::Process;
use super::{Said, free_port, wait, wait_or_not};
use crate::engines::Engine;

/// The parts end before what they stand on.
#[derive(Debug)]
pub(crate) struct Fleet {
    /// By what they are called: `central`, a site, `<site>/<node>`.
    pub(crate) parts: BTreeMap<String, Process>,
    pub(crate) engine: Option<Engine>,
    pub(crate) dir: TempDir,
    /// Parts that are not on the machine's own network, by name.
    places: BTreeMap<String, RoleNetwork>,
    port: u16,
    /// More flags of the nodes that are started.
    pub(crate) node_flags: Vec<String>,
}

/// A network namespace, and the address of the role in it.
#[derive(Debug, Clone)]
pub(crate) struct RoleNetwork {
    pub(crate) namespace: String,
    pub(crate) ip: String,
}

impl Fleet {
    /// A central orchestrator with these more arguments, and nothing else.
    pub(crate) fn central(arguments: &[&str]) -> Fleet {
        Fleet::central_with(BTreeMap::new(), arguments)
    }

    /// The same, with parts on networks of their own.
    pub(crate) fn central_with(places: BTreeMap<String, RoleNetwork>, arguments: &[&str]) -> Fleet {
        let mut fleet = Fleet::empty(places);
        fleet.start_central(arguments);
        fleet.central_answers();
        fleet
    }

    pub(crate) fn empty(places: BTreeMap<String, RoleNetwork>) -> Fleet {
        let dir = tempfile::Builder::new().prefix("cf").tempdir_in("/tmp").unwrap();
        let port = free_port();
        Fleet { parts: BTreeMap::new(), engine: None, dir, places, port, node_flags: Vec::new() }
    }

    pub(crate) fn start_central(&mut self, arguments: &[&str]) {
        let address = self.address("central", self.port);
        let mut all = vec!["central".to_owned(), "--listen".to_owned(), address];
        all.extend(arguments.iter().map(|it| (*it).to_owned()));
        self.part("central", all);
    }

    #[track_caller]
    pub(crate) fn central_answers(&self) {
        wait("the central orchestrator", || {
            Some(()).filter(|()| self.colony(["status"]).code == 0)
        });
    }

    /// Site `home` with node `n1` on a podman of its own.
    pub(crate) fn small() -> Fleet {
        Fleet::central(&[]).with_node()
    }

    pub(crate) fn with_node(self) -> Fleet {
        self.with_node_on(Engine::podman())
    }

    pub(crate) fn with_node_on(mut self, engine: Engine) -> Fleet {
        if let Some(image) = image_in(&engine) {
            self.colony(["app", "push-image", &image]).ok();
        }
        self.engine = Some(engine);
        self.site("home");
        self.node("home", "n1");
        self
    }

    pub(crate) fn site(&mut self, site: &str) {
        let invitation = self.colony(["site", "add", site]).ok().invitation();
        self.local(site, &invitation);
        self.site_answers(site);
    }

    #[track_caller]
    pub(crate) fn site_answers(&self, site: &str) {
        let invite = ["node", "invite", "--site", site];
        wait("the site", || Some(()).filter(|()| self.colony(invite).code == 0));
    }

    /// Starts an orchestrator that wants to join.
    pub(crate) fn local(&mut self, part: &str, invitation: &str) {
        let listen = self.address(part, free_port());
        self.part(
            part,
            ["local", "--join", invitation, "--listen", &listen].map(str::to_owned).into(),
        );
    }

    pub(crate) fn node(&mut self, site: &str, node: &str) {
        let invitation = self.colony(["node", "invite", "--site", site]).ok().invitation();
        let part = format!("{site}/{node}");
        self.joining_node(&part, node, &invitation);
        wait("the node", || Some(()).filter(|()| self.presence(&part) == "online"));
    }

    /// Starts a node that wants to join.
    pub(crate) fn joining_node(&mut self, part: &str, node: &str, invitation: &str) {
        let engine = self.engine.as_ref().unwrap().address();
        let join = ["node", "--join", invitation, "--name", node, "--engine", &engine];
        let health = ["--health", "off"];
        let own = join.into_iter().chain(health).map(str::to_owned);
        self.part(part, own.chain(self.node_flags.clone()).collect());
    }

    pub(crate) fn presence(&self, node: &str) -> String {
        let shown = self.colony(["node", "show", node, "-o", "json"]);
        if shown.code != 0 {
            return String::new();
        }
        shown.json()["presence"].as_str().unwrap_or_default().to_owned()
    }

    fn part(&mut self, name: &str, arguments: Vec<String>) {
        let file = name.replace('/', "-");
        let data = self.dir.path().join(&file).display().to_string();
        let arguments = [vec!["--data".to_owned(), data], arguments].concat();
        let log = self.dir.path().join(format!("{file}.log"));
        let contexts = self.dir.path().join("contexts.toml").display().to_string();
        let trap = self.trap(name).display().to_string();
        let settings = [
            ("COLONY_CONTEXTS", contexts.as_str()),
            ("COLONY_NODE_SETTLE", "1s"),
            ("COLONY_FAILPOINT", &trap),
        ];
        let mut settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        if let Some(cluster) = self.engine.as_ref().and_then(Engine::cluster) {
            settings.push(("COLONY_NODE_HELM".to_owned(), cluster.helm().display().to_string()));
        }
        let namespace = self.places.get(name).map(|it| it.namespace.clone());
        let process = Process::start(arguments, settings, namespace, &log);
        self.parts.insert(name.to_owned(), process);
    }

    /// The file that tells a part where to die, in builds that can.
    pub(crate) fn trap(&self, part: &str) -> PathBuf {
        self.dir.path().join(format!("{}.trap", part.replace('/', "-")))
    }

    pub(crate) fn process(&mut self, part: &str) -> &mut Process {
        self.parts.get_mut(part).unwrap()
    }

    /// What an operator types.
    #[track_caller]
    pub(crate) fn colony<const N: usize>(&self, arguments: [&str; N]) -> Said {
        self.type_in(&arguments)
    }

    /// The answer to a question, as data.
    #[track_caller]
    pub(crate) fn json<const N: usize>(&self, arguments: [&str; N]) -> Value {
        self.type_in(&[&arguments[..], &["-o", "json"]].concat()).ok().json()
    }

    #[track_caller]
    pub(crate) fn type_in(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("timeout");
        command.arg("60").arg(crate::program()).args(arguments);
        command.env("COLONY_CONTEXTS", self.dir.path().join("contexts.toml"));
        command.current_dir(self.dir.path());
        let output = command.output().unwrap();
        let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
        let code = output.status.code().unwrap_or(-1);
        let command = format!("colony {}", arguments.join(" "));
        let said = Said { command, code, out: text(output.stdout), err: text(output.stderr) };
        println!("$ {}\n{}{}", said.command, said.out, said.err);
        assert_ne!(said.code, 124, "it did not end: {said:?}");
        said
    }

    /// What the built-in application is to be told on this engine.
    pub(crate) fn settings(&self) -> Vec<String> {
        let image = self.engine.as_ref().and_then(image_in);
        image.map_or(vec![], |it| vec!["--set".to_owned(), format!("image={it}")])
    }

    /// The built-in application goes through all parts.
    #[track_caller]
    pub(crate) fn hello_installs(&self) {
        let deploy = ["deploy", "hello", "--version", "1.0", "--site", "home", "--watch", "--yes"];
        self.colony(deploy).ok().says("INSTALLED 1.0");
    }

    /// Waits until the deployment looks like that, and returns it.
    #[track_caller]
    pub(crate) fn see(&self, name: &str, like: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let found = wait_or_not(|| {
            let said = self.colony(["deployment", "show", name, "-o", "json"]);
            last = if said.code == 0 { said.json() } else { Value::String(said.err) };
            like(&last).then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("`{name}` does not get there: {last:#}"))
    }

    /// All containers of the node, running or not, by id and when they started.
    #[track_caller]
    pub(crate) fn containers(&self) -> BTreeMap<String, String> {
        self.engine.as_ref().unwrap().starts()
    }

    /// A plain look at the central orchestrator: status and text.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let url = format!("https://{}{path}", self.address("central", self.port));
        let mut curl = Command::new("curl");
        let output = curl.args(["-ks", "-m", "20", "-w", "\n%{http_code}", &url]).output();
        let output = output.expect("curl is missing: apt-get install -y curl");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    fn address(&self, part: &str, port: u16) -> String {
        let ip = self.places.get(part).map_or("127.0.0.1", |it| it.ip.as_str());
        format!("{ip}:{port}")
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// A cluster pulls the image of the built-in application from its registry.
fn image_in(engine: &Engine) -> Option<String> {
    engine.cluster().map(|it| format!("{}/hello:1.0", it.registry()))
}
