//! A real Kubernetes of the test's own, from `scripts/cluster`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Cluster {
    dir: TempDir,
    values: BTreeMap<String, String>,
}

impl Cluster {
    /// `None` where the programs of Kubernetes were not built yet: that takes
    /// longer than a test may.
    #[expect(clippy::print_stdout, reason = "a test that does not run says so")]
    pub(crate) fn start() -> Option<Cluster> {
        if !is_built() {
            println!(
                "not run: the programs of Kubernetes are missing; scripts/lib/kubernetes.sh builds them"
            );
            return None;
        }
        let dir = tempfile::Builder::new().prefix("ck").tempdir_in("/tmp").unwrap();
        let state = dir.path().join("c");
        let own = std::process::id().to_string();
        let output = run(&["up", text(&state), "--while", &own]);
        let values = output.lines().filter_map(|it| it.split_once('='));
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Some(Cluster { dir, values })
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        PathBuf::from(&self.values["KUBECONFIG"])
    }

    pub(crate) fn registry(&self) -> &str {
        &self.values["REGISTRY"]
    }

    pub(crate) fn helm(&self) -> PathBuf {
        Path::new(&self.values["BIN"]).join("helm")
    }

    /// Kills the API server; pods keep running.
    pub(crate) fn stop_api(&self) {
        run(&["stop-api", text(&self.state())]);
    }

    pub(crate) fn start_api(&self) {
        run(&["start-api", text(&self.state())]);
    }

    /// Runs `kubectl`, past the code under test.
    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let (good, output) = self.try_kubectl(arguments);
        assert!(good, "kubectl {arguments:?}: {output}");
        output
    }

    /// Applies a manifest.
    #[track_caller]
    pub(crate) fn apply(&self, manifest: &str) {
        let path = self.dir.path().join("manifest.yaml");
        std::fs::write(&path, manifest).unwrap();
        self.kubectl(&["apply", "-f", text(&path)]);
    }

    fn try_kubectl(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(Path::new(&self.values["BIN"]).join("kubectl"));
        let output = command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments).output();
        let output = output.unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&printed).into_owned())
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("c")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(script()).args(["down", text(&self.state())]).status();
    }
}

fn is_built() -> bool {
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("COLONY_CACHE")
        .or_else(|| home("XDG_CACHE_HOME").map(|it| it.join("colony")))
        .or_else(|| home("HOME").map(|it| it.join(".cache/colony")));
    let programs = ["kubelet", "kube-apiserver", "helm"];
    cache.is_some_and(|it| {
        programs.iter().all(|name| it.join("kubernetes-1.20.2/bin").join(name).is_file())
    })
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/cluster")
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
