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
                "not run: the programs of Kubernetes are not built; make test-engines builds them"
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
