//! All settings in one table, as `config show` prints them.

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in the file: table and key.
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
}

impl Key {
    /// The environment variable that sets it: `COLONY_NODE_ENGINE` for
    /// `node.engine`.
    pub(crate) fn variable(&self) -> String {
        format!("COLONY_{}", self.name.replace(['.', '-'], "_").to_uppercase())
    }
}

const fn key(name: &'static str, default: &'static str, help: &'static str) -> Key {
    Key { name, default, help }
}

pub(crate) const KEYS: &[Key] = &[
    key("data", "", "The data directory, with central/, local/ and node/"),
    key(
        "log.level",
        "info",
        "What is logged: error, warn, info, debug, or filters such as colony_node=debug",
    ),
    key("log.format", "text", "The format of the log: text or json"),
    key(
        "central.listen",
        "127.0.0.1:7443",
        "The address on which the central orchestrator accepts operators and sites",
    ),
    key(
        "central.advertise",
        "",
        "The URLs under which others reach the central orchestrator, comma-separated",
    ),
    key(
        "central.database",
        "",
        "postgres://… or sqlite:<file>; a file in the data directory if empty",
    ),
    key(
        "git.url",
        "",
        "The URL of the deployments repository; if empty, the central orchestrator hosts it",
    ),
    key("git.branch", "main", "The branch of the deployments repository"),
    key("git.token-file", "", "A file with the token for an https:// repository"),
    key("git.fetch-limit", "256MiB", "The maximum size of one fetch from a Git repository"),
    key("git.fetch-timeout", "10m", "The maximum duration of one fetch from a Git repository"),
    key(
        "local.listen",
        "127.0.0.1:7444",
        "The address on which the local orchestrator accepts nodes",
    ),
    key(
        "local.advertise",
        "",
        "The URLs under which nodes reach the local orchestrator, comma-separated",
    ),
    key("node.name", "", "The name to join with; the host's if empty"),
    key(
        "node.engine",
        "auto",
        "auto, docker, podman, the path of their socket, containerd, containerd:<socket>, kubernetes, or kubernetes:<kubeconfig>; or two, such as docker,kubernetes",
    ),
    key(
        "node.helm",
        "",
        "The path of the program helm, for nodes with a Kubernetes cluster; searched in PATH if empty",
    ),
    key("node.labels", "", "Labels of the node: key=value, comma-separated"),
    key(
        "node.health",
        "127.0.0.1:7445",
        "The address of /healthz, /readyz and /metrics; `off` disables it",
    ),
    key(
        "node.insecure-registries",
        "",
        "OCI registries without TLS, host:port, comma-separated; for archives and images, on every container engine",
    ),
    key(
        "node.registry-credentials",
        "",
        "A file with credentials for OCI registries, as `docker login` or `podman login` writes it; read before the user's own",
    ),
    key(
        "node.container-names",
        "refuse",
        "allow or refuse `container_name` in compose files: the name must be free on the engine",
    ),
    key(
        "node.external-resources",
        "allow",
        "allow or refuse networks and volumes of compose files that are `external`",
    ),
    key(
        "node.namespaces",
        "",
        "The namespaces that Helm releases may use, comma-separated; if empty, all but those of the cluster",
    ),
    key(
        "node.otel-endpoint",
        "",
        "The telemetry endpoint for containers: each gets it as HTTP_OTEL_EXPORTER_OTLP_ENDPOINT",
    ),
    key(
        "node.settle",
        "5s",
        "How long a container without a health check must run to count as healthy",
    ),
    key("node.image-keep", "24h", "How long images are kept that nothing needs"),
    key(
        "node.disk-low",
        "1GiB",
        "With less free space for images than this, images that nothing needs are removed at once",
    ),
];

/// The setting of that name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_documented_with_its_default() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
        let document = std::fs::read_to_string(path).expect("docs/operations.md is readable");
        let rows = document.lines().filter(|it| it.starts_with("| `")).collect::<Vec<_>>();
        for key in KEYS.iter().filter(|it| it.name != "data") {
            let default = match key.default {
                "" => "–".to_owned(),
                some => format!("`{some}`"),
            };
            let row = format!("| `{}` | {default} | ", key.name);
            assert!(rows.iter().any(|it| it.starts_with(&row)), "no row `{row}` in the document");
        }
    }
}
