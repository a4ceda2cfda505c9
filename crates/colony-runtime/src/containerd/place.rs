//! Where a pod is on the host: its process and its address.

use std::collections::BTreeMap;

use prost::Message;
use serde::Deserialize;

use super::wire::PodStatus;
use crate::containers::api::ContainerPlace;

/// `PodSandboxStatusRequest`, with what only containerd knows.
#[derive(Clone, PartialEq, Message)]
pub(super) struct VerboseRequest {
    #[prost(string, tag = "1")]
    pub(super) pod_sandbox_id: String,
    #[prost(bool, tag = "2")]
    pub(super) verbose: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct VerboseResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<PodStatus>,
    #[prost(btree_map = "string, string", tag = "2")]
    info: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Info {
    pid: u32,
}

impl VerboseResponse {
    /// All containers of a pod share the network of its first process.
    pub(super) fn place(self) -> Option<ContainerPlace> {
        let info: Info = serde_json::from_str(self.info.get("info")?).ok()?;
        let network = self.status.and_then(|it| it.network);
        let addresses = network.into_iter().filter_map(|it| it.ip.parse().ok()).collect();
        (info.pid > 0).then_some(ContainerPlace { pid: info.pid, addresses })
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::PodNetwork;
    use super::*;

    #[test]
    fn a_pod_that_runs_has_a_place() {
        check(r#"{"pid":7,"other":{}}"#, "10.88.0.2", Some("7 [10.88.0.2]"));
        check(r#"{"pid":7}"#, "", Some("7 []"));
        check(r#"{"pid":0}"#, "10.88.0.2", None);
        check("not JSON", "10.88.0.2", None);
    }

    #[track_caller]
    fn check(info: &str, ip: &str, expected: Option<&str>) {
        let network = Some(PodNetwork { ip: ip.to_owned() });
        let status = Some(PodStatus { network, ..PodStatus::default() });
        let info = BTreeMap::from([("info".to_owned(), info.to_owned())]);
        let found = VerboseResponse { status, info }.place();
        let found = found.map(|it| format!("{} {:?}", it.pid, it.addresses));
        assert_eq!(found.as_deref(), expected);
    }
}
