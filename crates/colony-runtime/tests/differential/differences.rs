//! What may differ between colony's containers and those of Docker Compose.

use serde_json::{Value, json};

use crate::compare::Difference;

/// A row of the published table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// A field of a container, and all below it; `*` is any name.
    pub(crate) field: &'static str,
    colony: &'static str,
    compose: &'static str,
    /// Whether a difference is the one that the row is about.
    is_this: fn(&Value, &Value) -> bool,
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        field: "Config.Labels.colony",
        colony: "the labels by which the node finds the container",
        compose: "none",
        is_this: |_, theirs| theirs.is_null(),
    },
    Row {
        field: "Config.Labels.com.docker.compose",
        colony: "none",
        compose: "the labels by which Compose finds the container",
        is_this: |ours, _| ours.is_null(),
    },
    Row {
        field: "Config.Env",
        colony: "all parameters, and the variables of the node",
        compose: "only what the file names",
        is_this: |_, theirs| theirs.is_null(),
    },
    Row {
        field: "Config.Healthcheck",
        colony: "`NONE`: the node runs the check (on Podman: the check, which the node starts)",
        compose: "the check, which the engine runs",
        is_this: |ours, _| {
            *ours == json!(["NONE"]) || ours["Test"] == json!(["NONE"]) || ours.is_null()
        },
    },
    Row {
        field: "Config.AttachStdout",
        colony: "not set: a device has no terminal to attach to",
        compose: "set",
        is_this: |_, theirs| *theirs == json!(true),
    },
    Row {
        field: "Config.AttachStderr",
        colony: "not set, as `AttachStdout`",
        compose: "set",
        is_this: |_, theirs| *theirs == json!(true),
    },
    Row {
        field: "HostConfig.RestartPolicy",
        colony: "`no`: the node restarts containers",
        compose: "the file's `restart`",
        is_this: |ours, _| *ours == json!("no"),
    },
    Row {
        field: "HostConfig.LogConfig.Config",
        colony: "3 files of 10 MiB without `logging`; sizes in bytes",
        compose: "files without an end, without `logging`; sizes as written",
        is_this: |ours, theirs| match theirs.as_str() {
            None => *ours == json!("10485760") || *ours == json!("3"),
            Some(size) => [("1m", "1048576"), ("500k", "512000")]
                .contains(&(size, ours.as_str().unwrap_or_default())),
        },
    },
    Row {
        field: "HostConfig.Binds",
        colony: "paths of the host, configs and secrets",
        compose: "paths of the host, and named volumes (the resulting mounts are the same)",
        is_this: |_, _| true,
    },
    Row {
        field: "HostConfig.Mounts",
        colony: "volumes, memory, and paths that must exist",
        compose: "memory, configs and secrets, and paths that must exist (the resulting mounts are the same)",
        is_this: |_, _| true,
    },
    Row {
        field: "Mounts.*.Mode",
        colony: "as the engine names the mode of that form of request",
        compose: "the same of the other form (what may be written is the same)",
        is_this: |_, _| true,
    },
    Row {
        field: "Mounts.*.Source",
        colony: "a file of the node with the content of the config or secret",
        compose: "the file in the folder of the project",
        is_this: |ours, _| is_own_file(ours),
    },
    Row {
        field: "Mounts.*",
        colony: "a mounted file, also for `content` and `environment`",
        compose: "a copy in the container, which is not a mount",
        is_this: |ours, theirs| is_own_file(&ours["Source"]) && theirs.is_null(),
    },
    Row {
        field: "Networks.*.Aliases",
        colony: "the service, its `aliases`, and the name of a further container of the service",
        compose: "the same, and the name of the container",
        is_this: |ours, theirs| aliases(ours) == aliases(theirs),
    },
];

impl Row {
    pub(crate) fn covers(&self, difference: &Difference) -> bool {
        let mut path = difference.path.split('.');
        let same =
            self.field.split('.').all(|it| path.next().is_some_and(|part| it == "*" || it == part));
        let exact = self.field != "Mounts.*" || path.next().is_none();
        same && exact && (self.is_this)(&difference.ours, &difference.theirs)
    }
}

fn is_own_file(source: &Value) -> bool {
    source.as_str().is_some_and(|it| it.contains("/configs/"))
}

/// Without the id, and without names that end with the number of a container.
fn aliases(list: &Value) -> Vec<&str> {
    let all = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_numbered = |it: &str| it.rsplit_once('-').is_some_and(|it| it.1.parse::<u32>().is_ok());
    all.filter(|it| *it != "id" && !is_numbered(it)).collect()
}

pub(crate) fn markdown() -> String {
    let head = "| field of the container | colony | Docker Compose |\n| --- | --- | --- |\n";
    ROWS.iter().fold(head.to_owned(), |text, it| {
        text + &format!("| `{}` | {} | {} |\n", it.field, it.colony, it.compose)
    })
}
