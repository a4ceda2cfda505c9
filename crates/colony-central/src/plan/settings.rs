//! colony's own settings of a deployment: `spec.x-colony-extensions`.

use colony_api::request::DeployRequest;
use colony_core::document::EXTENSION;
use colony_margo::{ApplicationDeployment, Extensions};
use serde_json::{Map, Value, json};

/// The extensions of the next file: what it has, with what was asked on top.
pub(super) fn extensions(
    deployed: Option<&ApplicationDeployment>,
    request: &DeployRequest,
) -> Extensions {
    let mut extensions = deployed.map(|it| it.spec.extensions.clone()).unwrap_or_default();
    let mut own = extensions.get(EXTENSION).cloned().unwrap_or_default();
    put(&mut own, request);
    if !own.is_empty() || extensions.get(EXTENSION).is_some() {
        extensions.insert(EXTENSION, own);
    }
    extensions
}

fn put(own: &mut Map<String, Value>, request: &DeployRequest) {
    if let Some(strategy) = &request.strategy {
        let mut value = json!({"type": strategy.kind.name()});
        if let Some(limit) = &strategy.max_unavailable {
            value["maxUnavailable"] = limit.parse::<u64>().map_or(json!(limit), |it| json!(it));
        }
        if let Some(canary) = &strategy.canary {
            value["canary"] = subset(canary);
        }
        if let Some(soak) = &strategy.soak {
            value["soak"] = json!(soak);
        }
        if let Some(promote) = strategy.promote {
            value["promote"] = json!(promote.name());
        }
        own.insert("strategy".to_owned(), value);
    }
    if let Some(on_failure) = request.on_failure {
        own.insert("onFailure".to_owned(), json!(on_failure.name()));
    }
    if !request.selector.is_empty() {
        own.insert("selector".to_owned(), json!(request.selector));
    }
    if let Some(replicas) = request.replicas {
        own.insert("replicas".to_owned(), json!(replicas));
    }
}

/// A count, a percentage, or labels as `line=press,hall=2`.
fn subset(text: &str) -> Value {
    if let Ok(count) = text.parse::<u64>() {
        return json!(count);
    }
    let labels = text.split(',').map(|it| it.split_once('='));
    let labels: Option<Map<String, Value>> =
        labels.map(|it| it.map(|(key, value)| (key.to_owned(), json!(value)))).collect();
    labels.map_or(json!(text), Value::Object)
}
