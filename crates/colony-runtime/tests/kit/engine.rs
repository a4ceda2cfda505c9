//! A container engine of the test's own, as `ENGINES.md` found it to work.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::cluster::{Cluster, ClusterUse};
use super::http;
use super::program::{Program, find};

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) kind: &'static str,
    pub(crate) socket: PathBuf,
    /// None where a script starts and ends it.
    program: Option<Program>,
    /// Of Kubernetes, whose kubeconfig stands in place of the socket.
    pub(super) cluster: Option<Cluster>,
    dir: TempDir,
}

impl Engine {
    /// Podman's API service with its own storage.
    pub(crate) fn podman() -> Engine {
        Engine::podman_with("unqualified-search-registries = []\n")
    }

    /// The same, told by its own settings that registries on this machine have no TLS.
    pub(crate) fn podman_without_tls() -> Engine {
        Engine::podman_with("[[registry]]\nlocation = \"127.0.0.1\"\ninsecure = true\n")
    }

    fn podman_with(registries: &str) -> Engine {
        let dir = folder();
        let at = |it: &str| dir.path().join(it);
        write(&at("containers.conf"), &podman_config(dir.path()));
        write(&at("registries.conf"), registries);
        let socket = at("podman.sock");
        let (root, run) = (at("root"), at("run"));
        let address = format!("unix://{}", socket.display());
        let arguments = [
            "--root",
            text(&root),
            "--runroot",
            text(&run),
            "system",
            "service",
            "-t",
            "0",
            &address,
        ];
        let environment = [
            ("CONTAINERS_CONF", at("containers.conf")),
            ("CONTAINERS_REGISTRIES_CONF", at("registries.conf")),
        ];
        let environment = environment.each_ref().map(|(key, value)| (*key, value.as_path()));
        let program = Program::start("podman", &arguments, &environment, &at("podman.log"));
        Engine { kind: "podman", socket, program: Some(program), cluster: None, dir }.ready()
    }

    /// A Docker daemon with its own data.
    pub(crate) fn docker() -> Engine {
        let dir = folder();
        let at = |it: &str| dir.path().join(it);
        let socket = at("docker.sock");
        let (data, exec, pid) = (at("data"), at("exec"), at("pid"));
        let address = format!("unix://{}", socket.display());
        let arguments = [
            "--data-root",
            text(&data),
            "--exec-root",
            text(&exec),
            "--pidfile",
            text(&pid),
            "-H",
            &address,
            // Daemons that run side by side would share the default bridge.
            "--bridge",
            "none",
        ];
        let program = Program::start("dockerd", &arguments, &[], &at("docker.log"));
        Engine { kind: "docker", socket, program: Some(program), cluster: None, dir }.ready()
    }

    /// containerd with CRI, from `scripts/containerd`.
    pub(crate) fn containerd() -> Engine {
        let dir = folder();
        let socket = dir.path().join("c/containerd.sock");
        let engine = Engine { kind: "containerd", socket, program: None, cluster: None, dir };
        engine.script("up");
        engine
    }

    /// A cluster; `None` where the programs of Kubernetes were not built yet.
    pub(crate) fn kubernetes() -> Option<Engine> {
        let (cluster, dir) = (Cluster::open(ClusterUse::Alone)?, folder());
        // A fleet leaves its releases behind.
        cluster.leave_to_this_test();
        let socket = cluster.kubeconfig();
        Some(Engine { kind: "kubernetes", socket, program: None, cluster: Some(cluster), dir })
    }

    /// The value of `--engine` of a node that uses it.
    pub(crate) fn address(&self) -> String {
        let socket = self.socket.display();
        match self.kind {
            "containerd" | "kubernetes" => format!("{}:{socket}", self.kind),
            _ => socket.to_string(),
        }
    }

    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    #[track_caller]
    fn script(&self, verb: &str) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/containerd");
        let mut command = Command::new(path);
        command.args([verb, text(&self.dir.path().join("c"))]).stdin(Stdio::null());
        // What it starts must not hold a pipe of ours open.
        let log = std::fs::File::create(self.dir.path().join("script.log")).unwrap();
        let status = command.stdout(Stdio::null()).stderr(log).status().unwrap();
        let said = std::fs::read_to_string(self.dir.path().join("script.log"));
        assert!(status.success(), "scripts/containerd {verb}: {}", said.unwrap_or_default());
    }

    /// Runs `ctr` in the namespace of CRI, past the code under test.
    #[track_caller]
    pub(crate) fn ctr(&self, arguments: &[&str]) -> String {
        self.try_ctr(arguments).unwrap_or_else(|refused| panic!("ctr {arguments:?}: {refused}"))
    }

    /// The same of what may have gone.
    pub(crate) fn try_ctr(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(find("ctr"));
        command.args(["-a", text(&self.socket), "-n", "k8s.io"]).args(arguments);
        let output = command.output().unwrap();
        let text = |it: Vec<u8>| String::from_utf8_lossy(&it).into_owned();
        match output.status.success() {
            true => Ok(text(output.stdout)),
            false => Err(text(output.stderr)),
        }
    }

    /// The file with the network of containerd's pods.
    pub(crate) fn network_configuration(&self) -> PathBuf {
        self.dir.path().join("c/cni/10-colony.conflist")
    }

    /// Ends the container of a service with a signal that it cannot handle.
    #[track_caller]
    pub(crate) fn kill(&self, app: &str, service: &str) {
        match self.kind {
            "containerd" => {
                let id = self.running(app, service);
                self.ctr(&["tasks", "kill", "-s", "SIGKILL", &id]);
            }
            _ => {
                let name = format!("colony-n1-{app}-web-{service}");
                self.ask("POST", &format!("/containers/{name}/kill?signal=KILL"));
            }
        }
    }

    /// Executes a command in the container of a service, and does not wait.
    #[track_caller]
    pub(crate) fn exec(&self, app: &str, service: &str, command: &[&str]) {
        if self.kind == "containerd" {
            let id = self.running(app, service);
            let arguments = ["tasks", "exec", "--exec-id", "test", &id];
            self.ctr(&[&arguments[..], command].concat());
            return;
        }
        let name = format!("colony-n1-{app}-web-{service}");
        let body = serde_json::json!({ "Cmd": command });
        let made = self.post(&format!("/containers/{name}/exec"), &body);
        let id = made["Id"].as_str().unwrap();
        self.post(&format!("/exec/{id}/start"), &serde_json::json!({ "Detach": true }));
    }

    /// The containers, pods and networks of a deployment, and files for them.
    #[track_caller]
    pub(crate) fn objects_of(&self, app: &str, node: &Path) -> Vec<String> {
        let deployment = super::deployment(app).to_string();
        if self.kind == "containerd" {
            let filter = format!("labels.\"colony.deployment\"=={deployment}");
            let found = self.ctr(&["containers", "ls", "-q", &filter]);
            let files = ["pods", "networks"].map(|it| std::fs::read_dir(node.join(it)));
            let files = files.into_iter().flatten().flatten().flatten();
            let files = files.map(|it| it.path().display().to_string());
            return found.lines().map(str::to_owned).chain(files).collect();
        }
        let ours = |it: &&serde_json::Value| it["Labels"]["colony.deployment"] == deployment;
        let all = ["/containers/json?all=true", "/networks"].map(|it| self.ask("GET", it));
        let all = all.iter().filter_map(serde_json::Value::as_array).flatten();
        all.filter(ours).map(|it| it["Id"].to_string()).collect()
    }

    /// The id that containerd has for the container of a service.
    #[track_caller]
    fn running(&self, app: &str, service: &str) -> String {
        let labels = [("deployment", &*super::deployment(app).to_string()), ("service", service)];
        let filter = labels.map(|(key, value)| format!("labels.\"colony.{key}\"=={value}"));
        let kind = "labels.\"io.cri-containerd.kind\"==container";
        let filter = format!("{},{kind}", filter.join(","));
        let running = self.ctr(&["tasks", "ls", "-q"]);
        let found = self.ctr(&["containers", "ls", "-q", &filter]);
        let ids = found.lines().filter(|it| running.lines().any(|task| task == *it));
        let [id] = ids.collect::<Vec<_>>()[..] else { panic!("{found} are {app}, {service}") };
        id.to_owned()
    }

    /// How many networks and volumes of nodes there are.
    #[track_caller]
    pub(crate) fn networks_and_volumes(&self, node: &Path) -> (usize, usize) {
        let ours = |listed: &serde_json::Value| {
            let all = listed.as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().filter(|it| it["Labels"].get("colony.node").is_some()).count()
        };
        let files = |it| std::fs::read_dir(node.join(it)).map_or(0, Iterator::count);
        match self.kind {
            "containerd" => (files("networks"), files("volumes")),
            _ => {
                (ours(&self.ask("GET", "/networks")), ours(&self.ask("GET", "/volumes")["Volumes"]))
            }
        }
    }

    /// Whether an image of this name is there.
    #[track_caller]
    pub(crate) fn has_image(&self, name: &str) -> bool {
        match self.kind {
            "containerd" => self.ctr(&["images", "ls", "-q"]).lines().any(|it| it == name),
            _ => self.ask("GET", "/images/json").to_string().contains(name),
        }
    }

    /// Whether an image of this registry is there, under any name.
    #[track_caller]
    pub(crate) fn has_image_of(&self, host: &str) -> bool {
        match self.kind {
            "containerd" => self.ctr(&["images", "ls", "-q"]).contains(host),
            _ => self.ask("GET", "/images/json").to_string().contains(host),
        }
    }

    fn ready(mut self) -> Engine {
        self.await_ready();
        self
    }

    #[track_caller]
    fn await_ready(&mut self) {
        let socket = self.socket.clone();
        let Some(program) = &mut self.program else { return };
        program.await_ready(|| request(&socket, "GET", "/_ping", b"").is_ok_and(|it| it.0 == 200));
    }

    /// Starts an engine that was stopped, on what it left behind.
    #[track_caller]
    pub(crate) fn start_again(&mut self) {
        if let Some(cluster) = &self.cluster {
            return cluster.start_api();
        }
        let Some(program) = &mut self.program else { return self.script("start") };
        let _ = std::fs::remove_file(&self.socket);
        program.start_again();
        self.await_ready();
    }

    /// A request to the engine, past the code under test.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str) -> serde_json::Value {
        self.find(method, path).unwrap_or_else(|refused| panic!("{method} {path}: {refused}"))
    }

    /// The same of what may have gone; with the engine's words if it has.
    pub(crate) fn find(&self, method: &str, path: &str) -> Result<serde_json::Value, String> {
        let (status, body) = request(&self.socket, method, path, b"").unwrap();
        match status {
            0..400 => Ok(serde_json::from_slice(&body).unwrap_or_default()),
            _ => Err(format!("{status} {}", String::from_utf8_lossy(&body))),
        }
    }

    /// The same with a body.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &serde_json::Value) -> serde_json::Value {
        let stream = UnixStream::connect(&self.socket).unwrap();
        let header = "Content-Type: application/json\r\n";
        let body = body.to_string();
        let (status, _, body) =
            http::exchange(stream, "POST", path, header, body.as_bytes()).unwrap();
        assert!(status < 400, "POST {path}: {status} {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// Ends the engine's service; what runs goes on or not as it likes.
    pub(crate) fn stop(&mut self) {
        match (&mut self.program, &self.cluster) {
            (Some(program), _) => program.end(),
            (None, Some(cluster)) => cluster.stop_api(),
            (None, None) => self.script("stop"),
        }
    }

    /// How many processes of the machine work for it.
    pub(crate) fn processes(&self) -> usize {
        let own = self.dir.path().to_string_lossy().into_owned();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
        lines.filter(|it| String::from_utf8_lossy(it).contains(&own)).count()
    }
}

fn clean(socket: &Path) -> Option<()> {
    let get = |path| {
        let (_, body) = request(socket, "GET", path, b"").ok()?;
        serde_json::from_slice::<Vec<serde_json::Value>>(&body).ok()
    };
    for it in get("/containers/json?all=true")? {
        let id = it["Id"].as_str()?;
        let path = format!("/containers/{id}?force=true&v=true");
        let _ = request(socket, "DELETE", &path, b"");
    }
    // Bridges outlive their engine.
    for it in get("/networks")? {
        let path = format!("/networks/{}", it["Name"].as_str()?);
        let _ = request(socket, "DELETE", &path, b"");
    }
    Some(())
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.cluster.is_some() {
            return;
        }
        let Some(program) = &mut self.program else { return self.script("down") };
        let (socket, dir) = (&self.socket, &self.dir);
        clean(socket);
        program.end();
        let output = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = dir.path().to_string_lossy().into_owned();
        let mounts = output.lines().filter_map(|it| it.split(' ').nth(1));
        for mount in mounts.filter(|it| it.starts_with(&own)).collect::<Vec<_>>().iter().rev() {
            let _ = std::process::Command::new("umount").args(["-l", mount]).status();
        }
    }
}

fn request(
    socket: &Path,
    method: &str,
    path: &str,
    body: &[u8],
) -> std::io::Result<(u16, Vec<u8>)> {
    let stream = UnixStream::connect(socket)?;
    let (status, _, body) = http::exchange(stream, method, path, "", body)?;
    Ok((status, body))
}

fn podman_config(dir: &Path) -> String {
    let (dir, runc) = (dir.display(), find("runc"));
    format!(
        "[containers]\n\
         default_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n\
         log_driver = \"k8s-file\"\n\
         [network]\n\
         network_backend = \"netavark\"\n\
         network_config_dir = \"{dir}/networks\"\n\
         [engine]\n\
         runtime = \"runc\"\n\
         cgroup_manager = \"cgroupfs\"\n\
         events_logger = \"file\"\n\
         static_dir = \"{dir}/static\"\n\
         tmp_dir = \"{dir}/tmp\"\n\
         volume_path = \"{dir}/volumes\"\n\
         [engine.runtimes]\n\
         runc = [\"{}\"]\n",
        runc.display(),
    )
}

/// Short, as the path of a socket must be.
fn folder() -> TempDir {
    tempfile::Builder::new().prefix("cr").tempdir_in("/tmp").unwrap()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
