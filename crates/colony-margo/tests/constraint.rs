//! Whether a device meets constraints, operator by operator.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use colony_margo::constraint::DeviceConstraints;
use colony_margo::{Capabilities, yaml};

const DEVICE: &[u8] = include_bytes!("data/pump-box.json");

#[test]
fn capacity_is_met_by_one_cpu() {
    check("capacityRequirements: {}", "");
    check("capacityRequirements: {cpu: {cores: 4}}", "");
    check("capacityRequirements: {cpu: {cores: 4, architectures: [amd64, arm64]}}", "");
    check(
        "capacityRequirements: {cpu: {cores: 5}}",
        "needs 5 cores in one cpu, device has 4 arm64 cores, 1 cores",
    );
    check(
        "capacityRequirements: {cpu: {cores: 4.5, architectures: [arm64]}}",
        "needs 4.5 cores in one arm64 cpu, device has 4 arm64 cores, 1 cores",
    );
    check(
        "capacityRequirements: {cpu: {cores: 1, architectures: [amd64]}}",
        "needs architecture amd64, device has arm64, an unknown one",
    );
}

#[test]
fn capacity_compares_amounts_across_units() {
    check("capacityRequirements: {memory: 2048Mi, storage: 33554432Ki}", "");
    check(
        "capacityRequirements: {memory: 2049Mi, storage: 1Ti}",
        "needs 2049Mi of memory, device has 2Gi
         needs 1Ti of storage, device has 32Gi",
    );
}

#[test]
fn two_beside_each_other_need_twice_the_memory_and_cores_but_one_storage() {
    let lacks = |text: &str| {
        let device = Capabilities::parse(DEVICE).unwrap().value;
        let lacks = constraints(text).lacks_for_two(&device);
        lacks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(lacks("capacityRequirements: {memory: 1Gi, storage: 32Gi, cpu: {cores: 2}}"), "");
    assert_eq!(
        lacks("capacityRequirements: {memory: 1025Mi, cpu: {cores: 2.5}}"),
        "needs 5 cores in one cpu, device has 4 arm64 cores, 1 cores; needs 2050Mi of memory, device has 2Gi"
    );
    assert_eq!(lacks("eligibilityRules: []"), "");
}

#[test]
fn in_looks_at_values_and_elements() {
    property("{key: /vendor, operator: In, values: [Other, Example Boxes]}", true);
    property("{key: /vendor, operator: In, values: [example boxes]}", false);
    property("{key: /supportedDeploymentTypes, operator: In, values: [helm, custom]}", true);
    property("{key: /supportedDeploymentTypes, operator: In, values: [helm]}", false);
    property("{key: /cpus/0/cores, operator: In, values: [4.0]}", true);
    property("{key: /otelCollector, operator: In, values: [false]}", true);
    property("{key: /otelCollector, operator: In, values: ['false']}", false);
    property("{key: /missing, operator: In, values: [a]}", false);
    property("{key: /cpus, operator: In, values: [a]}", false);
    property("{key: /cpus/0, operator: In, values: [a]}", false);
}

#[test]
fn not_in_needs_the_key() {
    property("{key: /vendor, operator: NotIn, values: [Other]}", true);
    property("{key: /vendor, operator: NotIn, values: [Example Boxes]}", false);
    property("{key: /supportedDeploymentTypes, operator: NotIn, values: [helm]}", true);
    property("{key: /supportedDeploymentTypes, operator: NotIn, values: [custom]}", false);
    property("{key: /missing, operator: NotIn, values: [a]}", false);
    property("{key: /cpus, operator: NotIn, values: [a]}", false);
    property("{key: /cpus/0, operator: NotIn, values: [a]}", false);
}

#[test]
fn presence_is_asked_of_any_value() {
    property("{key: /vendor, operator: Exists}", true);
    property("{key: /cpus/1, operator: Exists}", true);
    property("{key: /cpus/2, operator: Exists}", false);
    property("{key: /missing, operator: DoesNotExist}", true);
    property("{key: /vendor, operator: DoesNotExist}", false);
}

#[test]
fn comparisons_need_a_number() {
    property("{key: /cpus/0/cores, operator: Gt, values: [3.9]}", true);
    property("{key: /cpus/0/cores, operator: Gt, values: [4]}", false);
    property("{key: /cpus/0/cores, operator: Lt, values: [5]}", true);
    property("{key: /cpus/0/cores, operator: Lt, values: [4]}", false);
    property("{key: /memory, operator: Gt, values: [1]}", false);
    property("{key: /missing, operator: Lt, values: [1]}", false);
    label("{key: slots, operator: Gt, values: [0]}", false);
}

#[test]
fn contains_looks_for_one_item() {
    let all = |items: &str| {
        format!(
            "{{key: /peripherals, operator: ContainsAll, itemSelector: {{matchExpressions: [{items}]}}}}"
        )
    };
    let any = |items: &str| all(items).replace("ContainsAll", "ContainsAny");
    let acme = "{key: /manufacturer, operator: In, values: [Acme]}";
    let microphone = "{key: /type, operator: In, values: [microphone]}";
    let display = "{key: /type, operator: In, values: [display]}";
    property(&all(&format!("{acme}, {microphone}")), true);
    property(&all(&format!("{acme}, {display}")), false);
    property(&any(&format!("{acme}, {display}")), true);
    property(&any("{key: /type, operator: In, values: [gpu]}"), false);
    property(&all(microphone).replace("/peripherals", "/supportedRuntimes"), false);
    property(&all(microphone).replace("/peripherals", "/vendor"), false);
    property(&all(microphone).replace("/peripherals", "/missing"), false);
}

#[test]
fn labels_are_found_by_their_exact_key() {
    label("{key: example.com/zone, operator: In, values: [office]}", true);
    label("{key: Example.com/zone, operator: Exists}", false);
    label("{key: lines, operator: In, values: [b]}", true);
    label("{key: slots, operator: In, values: [2.5]}", true);
    label("{key: rank, operator: Gt, values: [3]}", true);
    label("{key: test-bench, operator: In, values: [true]}", false);
}

#[test]
fn one_rule_is_enough_and_each_failed_one_is_told() {
    let good = "{labelSelector: {matchExpressions: [{key: rank, operator: Exists}]}}";
    let bad = "{labelSelector: {matchExpressions: [{key: rank, operator: DoesNotExist}]}}";
    check(&format!("eligibilityRules: [{bad}, {good}]"), "");
    check("eligibilityRules: []", "");
    check("eligibilityRules: [{}]", "");
    let gpu = "{key: /peripherals, operator: ContainsAll, itemSelector: {matchExpressions: [{key: /type, operator: In, values: [gpu]}, {key: /model, operator: Exists}]}}";
    let rules = format!(
        "eligibilityRules: [{{propertySelector: {{matchExpressions: [{gpu}, {{key: /a~1b, operator: In, values: [x]}}]}}, \
         labelSelector: {{matchExpressions: [{{key: rank, operator: Lt, values: [3]}}]}}}}, {bad}]"
    );
    check(
        &rules,
        "rule 1: /peripherals has no item with /type gpu and /model, and /a~1b does not exist, and label rank is 4, not below 3
         rule 2: label rank must not exist",
    );
}

#[test]
fn pointers_unescape_slashes_and_tildes() {
    let device = r#"{"properties": {"id": "a", "vendor": "v", "modelNumber": "m", "serialNumber": "s", "x/y~z": 1}}"#;
    let device = Capabilities::parse(device.as_bytes()).unwrap().value;
    let rule = "eligibilityRules: [{propertySelector: {matchExpressions: [{key: /x~1y~0z, operator: In, values: [1]}]}}]";
    assert_eq!(constraints(rule).eligible(&device), Ok(()));
    let capacity = constraints("capacityRequirements: {cpu: {cores: 1}, memory: 1Mi}");
    let mismatches = capacity.evaluate(&device).unwrap_err();
    let told: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["needs 1 cores, device reports no cpu", "needs 1Mi of memory, device reports none"]
    );
    assert_eq!(capacity.eligible(&device), Ok(()));
}

#[track_caller]
fn property(expression: &str, expected: bool) {
    holds("propertySelector", expression, expected);
}

#[track_caller]
fn label(expression: &str, expected: bool) {
    holds("labelSelector", expression, expected);
}

#[track_caller]
fn holds(selector: &str, expression: &str, expected: bool) {
    let rule = format!("eligibilityRules: [{{{selector}: {{matchExpressions: [{expression}]}}}}]");
    let device = Capabilities::parse(DEVICE).unwrap().value;
    let found = constraints(&rule).evaluate(&device);
    assert_eq!(found.is_ok(), expected, "{expression}: {found:?}");
}

/// Evaluates constraints for the example device; the answer, line by line.
#[track_caller]
fn check(text: &str, expected: &str) {
    let device = Capabilities::parse(DEVICE).unwrap().value;
    let told = constraints(text).evaluate(&device).err().unwrap_or_default();
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(told, expected);
}

#[track_caller]
fn constraints(text: &str) -> DeviceConstraints {
    let limits = yaml::Limits::default();
    yaml::read(text.as_bytes(), &limits, DeviceConstraints::read).unwrap().value
}
