//! Our own examples, which use every field, read and written again.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use colony_margo::constraint::DeviceConstraints;
use colony_margo::description::Order;
use colony_margo::yaml::{self, Cursor};
use colony_margo::{
    ApplicationDeployment, ApplicationDescription, Capabilities, DeploymentStatus, Findings, Json,
    State,
};
use serde_json::json;

const DESCRIPTION: &[u8] = include_bytes!("data/pump-monitor.yaml");
const DEPLOYMENT: &[u8] = include_bytes!("data/pump-deployment.yaml");
const BOX: &[u8] = include_bytes!("data/pump-box.json");
const STATUS: &[u8] = include_bytes!("data/pump-status.json");

#[test]
fn description_keeps_every_field() {
    let description = description();
    assert_eq!(as_json(&description), document(DESCRIPTION));
    assert_eq!(description.metadata.version, "2.4");

    let written = description.to_yaml();
    let again = ApplicationDescription::parse(written.as_bytes()).unwrap();
    assert_eq!(again.warnings, []);
    assert_eq!((again.value.to_yaml(), again.value), (written, description));
}

#[test]
fn deployment_keeps_every_field() {
    let deployment = ApplicationDeployment::parse(DEPLOYMENT).unwrap();
    assert_eq!(deployment.warnings, []);
    let deployment = deployment.value;
    let mut expected = document(DEPLOYMENT);
    // A text is expected there, so the label is not a number.
    expected["metadata"]["labels"]["release"] = json!("1.10");
    assert_eq!(as_json(&deployment), expected);

    let written = deployment.to_yaml();
    let again = ApplicationDeployment::parse(written.as_bytes()).unwrap().value;
    assert_eq!((again.to_yaml(), again), (written, deployment));
}

#[test]
fn capabilities_are_sent_on_as_they_were_written() {
    let device = device();
    assert_eq!(as_json(&device), document(BOX));
    assert!(device.supports("compose"));
    let again = Capabilities::parse(as_json(&device).to_string().as_bytes()).unwrap().value;
    assert_eq!(again, device);
}

#[test]
fn status_drops_unknown_fields_and_empty_errors() {
    let status = DeploymentStatus::parse(STATUS).unwrap().value;
    let mut expected = document(STATUS);
    expected["components"][0].as_object_mut().unwrap().remove("error");
    expected.as_object_mut().unwrap().remove("futureField");
    assert_eq!(as_json(&status), expected);
    assert_eq!(State::overall(status.components.iter().map(|it| it.state)), State::Failed);
}

#[test]
fn deploying_forwards_what_devices_need_and_nothing_else() {
    let deployment = description().deploy(&order("compose-arm")).unwrap();
    let json = as_json(&deployment);

    let profile = &document(DESCRIPTION)["deploymentProfiles"][0];
    let sent = &json["spec"]["deploymentProfile"];
    for forwarded in ["type", "components", "deviceConstraints", "x-acme-extensions"] {
        assert_eq!(sent[forwarded], profile[forwarded]);
    }
    assert_eq!(sent.get("id").or(sent.get("description")), None);
    assert!(!deployment.to_yaml().contains("x-shop-extensions"));

    let parameters = &json["spec"]["parameters"];
    let names: Vec<&String> = parameters.as_object().unwrap().keys().collect();
    assert_eq!(names, ["interval", "mode", "siteName", "threshold", "verbose"]);
    let interval = json!({
        "value": 10,
        "targets": [{"pointer": "POLL_INTERVAL", "components": ["pump-agent"]}],
    });
    assert_eq!(parameters["interval"], interval);
    let again = ApplicationDeployment::parse(deployment.to_yaml().as_bytes()).unwrap();
    assert_eq!((again.value, again.warnings), (deployment, vec![]));
}

#[test]
fn deploying_names_every_wrong_value_at_once() {
    let mut order = order("compose-arm");
    order.values.clear();
    order.values.insert("interval".into(), json!(4));
    order.values.insert("pressure".into(), json!(1));
    let errors = description().deploy(&order).unwrap_err();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    parameter `interval` is `4`; expected at least 5
    parameter `siteName` has no value; expected a text
    parameter `pressure` does not exist; expected one of `channels`, `interval`, `mode`, `siteName`, `threshold`, `verbose`
    ");

    let errors = description().deploy(&self::order("docker")).unwrap_err();
    insta::assert_snapshot!(errors[0], @"profile `docker` does not exist; expected one of `compose-arm`, `helm-cluster`");
}

#[test]
fn values_are_checked_by_their_schema() {
    check("interval", json!(30), None);
    check("interval", json!("30"), Some("is `\"30\"`; expected an integer"));
    check("interval", json!(30.5), Some("is `30.5`; expected an integer"));
    check("interval", json!(4), Some("is `4`; expected at least 5"));
    check("interval", json!(3601), Some("is `3601`; expected at most 3600"));
    check("interval", json!(null), Some("has no value; expected an integer"));
    check("threshold", json!(1), None);
    check("threshold", json!(1.25), None);
    check("threshold", json!(1.255), Some("is `1.255`; expected at most 2 decimal places"));
    check("threshold", json!(true), Some("is `true`; expected a number"));
    check("channels", json!([]), None);
    check("channels", json!(["left"]), None);
    check("channels", json!("left"), Some("is `\"left\"`; expected a list"));
    check("channels", json!(["left", 1]), Some("is `1`; expected a text"));
    check("mode", json!("learn"), None);
    check("mode", json!("sleep"), Some("is `\"sleep\"`; expected one of `\"watch\"`, `\"learn\"`"));
    check("mode", json!(["learn"]), Some("is `[\"learn\"]`; expected a text"));
    check("siteName", json!("north/hall"), None);
    check("siteName", json!(""), Some("is empty; expected a text"));
    check("siteName", json!("n"), Some("is `\"n\"`; expected at least 2 characters"));
    check(
        "siteName",
        json!("9north"),
        Some("expected a text that matches `^[a-z]+(\\/[a-z]+)*\\b`"),
    );
    check("verbose", json!(true), None);
    check("verbose", json!("yes"), Some("is `\"yes\"`; expected `true` or `false`"));
    check("pressure", json!(1), Some("does not exist; expected one of `channels`, `interval`"));
}

#[test]
fn immutable_parameters_are_seen_to_change() {
    let values = |name: &str| [("siteName".to_owned(), json!(name))].into();
    let description = description();
    let changed = description.changed_immutables(&values("north"), &values("south"));
    assert_eq!(changed, ["siteName"]);
    assert!(description.changed_immutables(&values("north"), &values("north")).is_empty());
}

#[test]
fn own_extension_block_is_read_with_positions_from_the_same_tree() {
    let node = yaml::parse(DEPLOYMENT, &yaml::Limits::default()).unwrap();
    let findings = Findings::new();
    let root = Cursor::root(&node, &findings);
    assert!(ApplicationDeployment::read(&root).is_some());
    let block = root.field("spec").and_then(|it| it.field("x-colony-extensions")).unwrap();
    assert_eq!(block.field("rollout").and_then(|it| it.bool()), None);
    let found: Vec<String> = findings.into_vec().iter().map(ToString::to_string).collect();
    let expected =
        "37:14: spec.x-colony-extensions.rollout: `r-17` is a text; expected `true` or `false`";
    assert_eq!(found, [expected]);
}

#[test]
fn documents_survive_a_store_of_json() {
    let deployment = ApplicationDeployment::parse(DEPLOYMENT).unwrap().value;
    let status = DeploymentStatus::parse(STATUS).unwrap().value;
    assert_eq!(
        serde_json::from_value::<ApplicationDescription>(as_json(&description())).unwrap(),
        description()
    );
    assert_eq!(
        serde_json::from_value::<ApplicationDeployment>(as_json(&deployment)).unwrap(),
        deployment
    );
    assert_eq!(serde_json::from_value::<Capabilities>(as_json(&device())).unwrap(), device());
    assert_eq!(serde_json::from_value::<DeploymentStatus>(as_json(&status)).unwrap(), status);
    let error = serde_json::from_value::<ApplicationDeployment>(json!({"id": 5})).unwrap_err();
    assert_eq!(error.to_string(), "id: `5` is a number; expected a text");
}

#[test]
fn constraints_of_the_example_fit_the_example_device() {
    let description = description();
    let constraints: &DeviceConstraints = description.profiles[0].constraints.as_ref().unwrap();
    assert_eq!(constraints.evaluate(&device()), Ok(()));
}

#[track_caller]
fn check(parameter: &str, value: Json, flaw: Option<&str>) {
    match (description().validate(parameter, &value), flaw) {
        (Ok(()), None) => {}
        (Err(error), Some(flaw)) => assert!(error.to_string().contains(flaw), "{error}"),
        (other, _) => panic!("{other:?}"),
    }
}

fn description() -> ApplicationDescription {
    let parsed = ApplicationDescription::parse(DESCRIPTION).unwrap();
    assert_eq!(parsed.warnings, []);
    parsed.value
}

fn device() -> Capabilities {
    Capabilities::parse(BOX).unwrap().value
}

fn order(profile: &str) -> Order {
    Order {
        id: "6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40".parse().unwrap(),
        name: "pump-monitor-north".into(),
        namespace: "pumps".into(),
        device_id: "plant-north/*".parse().unwrap(),
        labels: [("owner".to_owned(), "maintenance".to_owned())].into(),
        profile: profile.into(),
        values: [("interval".into(), json!(10)), ("siteName".into(), json!("north"))].into(),
        extensions: Default::default(),
    }
}

/// The document as it is, with only the texts that look like numbers put right.
fn document(bytes: &[u8]) -> Json {
    let mut json = yaml::parse(bytes, &yaml::Limits::default()).unwrap().to_json();
    if let Some(version) = json.pointer_mut("/metadata/version") {
        *version = json!(version.to_string());
    }
    json
}

fn as_json<T: serde::Serialize>(value: &T) -> Json {
    serde_json::to_value(value).unwrap()
}
