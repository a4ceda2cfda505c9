//! The resources of a cluster.

use colony_core::margo::Quantity;
use serde::Deserialize;

use crate::config::Facts;

#[derive(Debug, Deserialize)]
pub(super) struct ClusterNode {
    status: NodeStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatus {
    #[serde(default)]
    capacity: Capacity,
    node_info: NodeInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Capacity {
    cpu: String,
    memory: String,
    ephemeral_storage: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeInfo {
    architecture: String,
    os_image: String,
}

/// The resources of all machines of the cluster together.
pub(super) fn facts(nodes: &[ClusterNode]) -> Facts {
    let bytes = |it: &str| it.parse::<Quantity>().map_or(0, |it| it.bytes());
    let sum = |of: fn(&Capacity) -> &str| -> u64 {
        let all = nodes.iter().map(|it| bytes(of(&it.status.capacity))).sum::<u128>();
        u64::try_from(all).unwrap_or(u64::MAX)
    };
    let first = nodes.first().map(|it| &it.status.node_info);
    Facts {
        cpus: nodes.iter().map(|it| cores(&it.status.capacity.cpu)).sum(),
        architecture: first.map(|it| it.architecture.clone()).unwrap_or_default(),
        memory_bytes: sum(|it| &it.memory),
        storage_bytes: sum(|it| &it.ephemeral_storage),
        os: first.map(|it| it.os_image.clone()).unwrap_or_default(),
    }
}

/// Reads `2` or `1500m`.
fn cores(text: &str) -> f64 {
    match text.strip_suffix('m') {
        Some(thousandths) => thousandths.parse::<f64>().unwrap_or_default() / 1_000.0,
        None => text.parse().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn machines_of_a_cluster_add_up() {
        let node = |cpu: &str, memory: &str| -> ClusterNode {
            let info = json!({"architecture": "amd64", "osImage": "Debian"});
            let capacity = json!({"cpu": cpu, "memory": memory, "ephemeral-storage": "1Gi"});
            serde_json::from_value(json!({"status": {"capacity": capacity, "nodeInfo": info}}))
                .unwrap()
        };
        let facts = facts(&[node("2", "4Gi"), node("1500m", "1024Ki")]);
        assert!((facts.cpus - 3.5).abs() < f64::EPSILON);
        assert_eq!(facts.memory_bytes, (4 << 30) + (1 << 20));
        assert_eq!((facts.storage_bytes, facts.architecture.as_str()), (2 << 30, "amd64"));
        assert_eq!(super::facts(&[]), Facts::default());
    }
}
