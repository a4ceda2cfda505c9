//! What runs on an engine, in one form for all engines, read past the code under
//! test.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Engine;

impl Engine {
    /// Its containers or pods, running or not, in the form of Docker's list:
    /// `Id`, `State` and `Labels`.
    #[track_caller]
    pub(crate) fn list(&self) -> Vec<Value> {
        match (self.kind, &self.cluster) {
            ("containerd", _) => self.tasks().iter().filter_map(|it| self.listed(it)).collect(),
            (_, Some(cluster)) => cluster.pods().iter().map(listed_pod).collect(),
            (_, None) => array(self.ask("GET", "/containers/json?all=true")),
        }
    }

    /// The same by id, with a text that is another one after each start.
    #[track_caller]
    pub(crate) fn starts(&self) -> BTreeMap<String, String> {
        match (self.kind, &self.cluster) {
            ("containerd", _) => self.tasks(),
            (_, Some(cluster)) => {
                let start = |it: &Value| it["status"]["containerStatuses"][0]["state"].to_string();
                cluster.pods().iter().map(|it| (uid(it), start(it))).collect()
            }
            (_, None) => {
                let all = array(self.ask("GET", "/containers/json?all=true"));
                let ids = all.iter().map(|it| it["Id"].as_str().unwrap().to_owned());
                // One that goes while we look is gone.
                let started = |id: &str| {
                    let it = self.find("GET", &format!("/containers/{id}/json")).ok()?;
                    Some(it["State"]["StartedAt"].as_str().unwrap().to_owned())
                };
                ids.filter_map(|id| Some((id.clone(), started(&id)?))).collect()
            }
        }
    }

    /// By id: process and state. containerd starts no task twice.
    #[track_caller]
    fn tasks(&self) -> BTreeMap<String, String> {
        let filter = "labels.\"io.cri-containerd.kind\"==container";
        let containers = self.ctr(&["containers", "ls", "-q", filter]);
        let tasks = self.ctr(&["tasks", "ls"]);
        let tasks: BTreeMap<&str, &str> =
            tasks.lines().filter_map(|it| it.split_once(' ')).collect();
        let task = |id: &str| tasks.get(id).map_or("", |it| it.trim()).to_owned();
        containers.lines().map(|id| (id.to_owned(), task(id))).collect()
    }

    /// A container of containerd; `None` if it has gone.
    fn listed(&self, (id, task): (&String, &String)) -> Option<Value> {
        let info = self.try_ctr(&["containers", "info", id]).ok()?;
        let info: Value = serde_json::from_str(&info).unwrap();
        let state = if task.ends_with("RUNNING") { "running" } else { "exited" };
        Some(json!({ "Id": id, "State": state, "Labels": info["Labels"] }))
    }
}

fn listed_pod(pod: &Value) -> Value {
    let runs = pod["status"]["phase"] == "Running";
    let state = if runs { "running" } else { "exited" };
    json!({ "Id": uid(pod), "State": state, "Labels": pod["metadata"]["labels"] })
}

fn uid(pod: &Value) -> String {
    pod["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn array(value: Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
