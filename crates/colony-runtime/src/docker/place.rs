//! Where a container is on the host: its process and its addresses.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::containers::api::ContainerPlace;
use crate::containers::engine_error::EngineError;
use crate::docker::api::{EngineApi, gone_is_none};
use crate::url::escaped;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    #[serde(default)]
    state: State,
    #[serde(default)]
    network_settings: NetworkSettings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct State {
    running: bool,
    pid: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct NetworkSettings {
    networks: Option<BTreeMap<String, Endpoint>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Endpoint {
    #[serde(rename = "IPAddress")]
    address: String,
    /// Empty in a network that does not lead outside.
    gateway: String,
}

impl EngineApi {
    pub(super) async fn place(&self, id: &str) -> Result<Option<ContainerPlace>, EngineError> {
        let path = format!("/containers/{}/json", escaped(id));
        let found: Option<Inspected> = gone_is_none(self.get(&path).await)?;
        Ok(found.and_then(Inspected::place))
    }
}

impl Inspected {
    fn place(self) -> Option<ContainerPlace> {
        let networks = self.network_settings.networks.unwrap_or_default();
        let outside = networks.values().filter(|it| !it.gateway.is_empty());
        let addresses = outside.filter_map(|it| it.address.parse().ok()).collect();
        let runs = self.state.running && self.state.pid > 0;
        runs.then_some(ContainerPlace { pid: self.state.pid, addresses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_running_container_has_a_place() {
        let networks = r#"{"a":{"IPAddress":"10.0.0.2","Gateway":"10.0.0.1"},
            "internal":{"IPAddress":"10.0.1.2","Gateway":""},"none":{"Gateway":"10.0.0.1"}}"#;
        check(r#"{"Running":true,"Pid":7}"#, networks, Some("7 [10.0.0.2]"));
        check(r#"{"Running":true,"Pid":7}"#, "null", Some("7 []"));
        check(r#"{"Running":false,"Pid":0}"#, networks, None);
        check("{}", networks, None);
    }

    #[track_caller]
    fn check(state: &str, networks: &str, expected: Option<&str>) {
        let text = format!(r#"{{"State":{state},"NetworkSettings":{{"Networks":{networks}}}}}"#);
        let found = serde_json::from_str::<Inspected>(&text).expect("an inspection").place();
        let found = found.map(|it| format!("{} {:?}", it.pid, it.addresses));
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}
