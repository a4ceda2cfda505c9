//! A real Kubernetes for tests, from `scripts/cluster`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Prints a token of a service account, signed with the key of the cluster:
/// key, account, its uid, and the seconds until it expires.
const TOKEN: &str = r#"
encode() { openssl base64 -A | tr '+/' '-_' | tr -d =; }
now="$(date +%s)"
issuer=https://kubernetes.default.svc
head="$(printf '{"alg":"RS256"}' | encode)"
claims="$(printf '{"iss":"%s","aud":["%s"],"sub":"system:serviceaccount:default:%s","iat":%d,"nbf":%d,"exp":%d,"kubernetes.io":{"namespace":"default","serviceaccount":{"name":"%s","uid":"%s"}}}' \
  "$issuer" "$issuer" "$2" $((now - 600)) $((now - 600)) $((now + $4)) "$2" "$3" | encode)"
printf '%s.%s.%s' "$head" "$claims" "$(printf '%s.%s' "$head" "$claims" | openssl dgst -sha256 -sign "$1" -binary | encode)"
"#;

/// How a test uses the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterUse {
    /// Beside others, on objects of its own.
    Shared,
    Alone,
}

/// The cluster that all tests of one run share. The first one starts it; it is
/// taken down when the run ends. One that a test failed on is not used alone
/// again: it is not known what was left behind.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// For files of this test.
    dir: TempDir,
    state: PathBuf,
    values: BTreeMap<String, String>,
    /// Held until the test ends.
    _turn: File,
}

impl Cluster {
    /// `None` where the programs of Kubernetes were not built yet: that takes
    /// longer than a test may.
    #[expect(clippy::print_stdout, reason = "a test that does not run says so")]
    pub(crate) fn open(turn: ClusterUse) -> Option<Cluster> {
        if !is_built() {
            println!(
                "not run: the programs of Kubernetes are not built; make test-engines builds them"
            );
            return None;
        }
        let own = lock("turn");
        match turn {
            ClusterUse::Shared => own.lock_shared().unwrap(),
            ClusterUse::Alone => own.lock().unwrap(),
        }
        let start = lock("start");
        start.lock().unwrap();
        let owner = owner().to_string();
        let state = Path::new("/tmp").join(format!("ck-{owner}"));
        let (cluster, mark) = (text(&state), spoiled(&state));
        if turn == ClusterUse::Alone && mark.exists() {
            run(&["down", cluster]);
            std::fs::remove_file(mark).unwrap();
        }
        let is_up = state.join("state").exists();
        let output = match is_up {
            true => run(&["show", cluster]),
            false => run(&["up", cluster, "--while", &owner]),
        };
        // A test that failed may have stopped it.
        run(&["start-api", cluster]);
        let values = output.lines().filter_map(|it| it.split_once('='));
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let dir = tempfile::Builder::new().prefix("ck").tempdir_in("/tmp").unwrap();
        Some(Cluster { dir, state, values, _turn: own })
    }

    /// The next test that wants a cluster alone gets a fresh one.
    pub(crate) fn leave_to_this_test(&self) {
        std::fs::write(spoiled(&self.state), "").unwrap();
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        PathBuf::from(&self.values["KUBECONFIG"])
    }

    pub(crate) fn registry(&self) -> &str {
        &self.values["REGISTRY"]
    }

    /// The address of this machine, for processes of the cluster.
    pub(crate) fn host_ip(&self) -> &str {
        &self.values["HOST_IP"]
    }

    /// Starts a program inside of the cluster, which ends it at last.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(script());
        command.args(["enter", text(&self.state)]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// A kubeconfig for a service account in `default`, whose token is accepted
    /// for about `seconds`. The API server allows clocks to differ by a minute.
    pub(crate) fn kubeconfig_of(&self, account: &str, seconds: i64) -> PathBuf {
        let path = self.dir.path().join(format!("{account}-{seconds}.kubeconfig"));
        let uid = self.kubectl(&["get", "sa", account, "-o", "jsonpath={.metadata.uid}"]);
        let key = self.state.join("pki/service-accounts.key");
        let left = (seconds - 60).to_string();
        let mut command = Command::new("bash");
        command.args(["-euc", TOKEN, "token", text(&key), account, &uid, &left]);
        let token = command.output().unwrap();
        assert!(token.status.success(), "{}", String::from_utf8_lossy(&token.stderr));
        let token = String::from_utf8(token.stdout).unwrap();
        let own = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let lines = own.lines().filter_map(|it| match it.trim_start() {
            line if line.starts_with("client-key-data") => None,
            line if line.starts_with("client-certificate-data") => {
                Some(format!("      token: {token}"))
            }
            _ => Some(it.to_owned()),
        });
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
        path
    }

    pub(crate) fn helm(&self) -> PathBuf {
        Path::new(&self.values["BIN"]).join("helm")
    }

    /// Runs `helm` as an operator would, past the code under test.
    #[track_caller]
    pub(crate) fn run_helm(&self, arguments: &[&str]) {
        let mut command = Command::new(self.helm());
        for (name, folder) in [("CACHE", "cache"), ("CONFIG", "config"), ("DATA", "data")] {
            command.env(format!("HELM_{name}_HOME"), self.dir.path().join(folder));
        }
        let output = command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments).output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "helm {arguments:?}: {errors}");
    }

    /// Kills the API server; pods keep running.
    pub(crate) fn stop_api(&self) {
        run(&["stop-api", text(&self.state)]);
    }

    pub(crate) fn start_api(&self) {
        run(&["start-api", text(&self.state)]);
    }

    /// Runs `kubectl`, past the code under test.
    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let (good, output) = self.try_kubectl(arguments);
        assert!(good, "kubectl {arguments:?}: {output}");
        output
    }

    /// Waits until an object exists.
    #[track_caller]
    pub(crate) fn await_there(&self, object: &str) {
        let is_there = || self.try_kubectl(&["get", object]).0;
        let there = (0..120).any(|_| {
            std::thread::sleep(Duration::from_millis(250));
            is_there()
        });
        assert!(there, "{object} does not exist after 30 s");
    }

    /// Waits until an object is deleted, or finds that it is.
    #[track_caller]
    pub(crate) fn await_gone(&self, object: &str) {
        let (good, output) = self.try_kubectl(&["wait", "--for=delete", object, "--timeout=60s"]);
        let is_gone = ["not found", "no matching resources"].iter().any(|it| output.contains(it));
        assert!(good || is_gone, "{object}: {output}");
    }

    /// Applies a manifest.
    #[track_caller]
    pub(crate) fn apply(&self, manifest: &str) {
        let path = self.dir.path().join("manifest.yaml");
        std::fs::write(&path, manifest).unwrap();
        self.kubectl(&["apply", "-f", text(&path)]);
    }

    /// All pods, as the cluster describes them.
    #[track_caller]
    pub(crate) fn pods(&self) -> Vec<serde_json::Value> {
        let pods = self.kubectl(&["get", "pods", "-A", "-o", "json"]);
        let pods: serde_json::Value = serde_json::from_str(&pods).unwrap();
        pods["items"].as_array().cloned().unwrap_or_default()
    }

    fn try_kubectl(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(Path::new(&self.values["BIN"]).join("kubectl"));
        let output = command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments).output();
        let output = output.unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&printed).into_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = std::fs::write(spoiled(&self.state), "");
        }
    }
}

/// The process that ends with the run: nextest starts one for each test.
fn owner() -> u32 {
    match std::env::var_os("NEXTEST") {
        Some(_) => std::os::unix::process::parent_id(),
        None => std::process::id(),
    }
}

fn spoiled(state: &Path) -> PathBuf {
    let name = state.file_name().unwrap().to_string_lossy().into_owned();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.spoiled"))
}

fn lock(what: &str) -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{what}.lock"));
    File::options().create(true).append(true).open(path).unwrap()
}

fn is_built() -> bool {
    let check = scripts().join("lib/kubernetes.sh");
    Command::new(check).arg("--check").status().is_ok_and(|it| it.success())
}

fn script() -> PathBuf {
    scripts().join("cluster")
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

#[track_caller]
fn run(arguments: &[&str]) -> String {
    let output = Command::new(script()).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scripts/cluster {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
