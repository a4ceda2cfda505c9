//! Documents with many mistakes: all are found at once, with their places.

use colony_margo::{
    ApplicationDeployment, ApplicationDescription, Capabilities, DeploymentStatus, Finding,
};

#[test]
fn description_with_many_mistakes() {
    let text = r#"
apiVersion: v2
id: Pump Monitor
metadata:
  name: [Pump]
  versoin: 1.0
  catalog:
    author:
      - {name: Ada, email: unknown}
    organization: []
deploymentProfiles:
  - id: one
    type: docker
    components:
      - name: agent
        properties: {repository: "https://example.com/x", revision: v1.0, timeout: 30s, wait: yes}
      - name: agent
        properties: {repository: oci://example.com/x, revision: 1.0.0}
        x-acme-extensions: 5
  - id: two
    type: helm
    components:
      - name: chart
        properties: {repository: oci://example.com/x, revision: 1.0.0}
    deviceConstraints:
      capacityRequirements: {cpu: {cores: -1, architectures: [x86]}, memory: 512MB}
      eligibilityRules:
        - propertySelector:
            matchExpressions:
              - {key: peripherals, operator: Contains}
              - {key: /cpus, operator: ContainsAll, values: [1]}
              - {key: /memory, operator: Gt, values: [a]}
              - {key: /vendor, operator: In, values: [a, 1]}
  - id: two
    type: helm
    components:
      - name: chart
        properties: {repository: oci://example.com/x, revision: 1.0.0}
parameters:
  empty: {value: {a: 1}, targets: []}
  port:
    targets: [{pointer: PORT}]
configuration:
  sections:
    - name: Main
      settings:
        - {parameter: port, name: Port, schema: number, immutable: 1}
  schema:
    - {name: text, dataType: text}
    - {name: pattern, dataType: string, regexMatch: "(", minLength: -1}
"#;
    insta::assert_snapshot!(render(ApplicationDescription::parse(text.as_bytes()).unwrap_err()), @r"
    2:13: apiVersion: `v2` is not known; expected `v1`
    3:5: id: `Pump Monitor` has the character `P`; expected 1 to 200 lower-case letters, digits and dashes
    5:3: metadata.version: is missing; expected `version`, which is required
    5:9: metadata.name: is a list; expected a text
    6:3: warning: metadata.versoin: key `versoin` is not known (did you mean `version`?); expected `name`, `description`, `version` or `catalog`
    9:28: metadata.catalog.author[0].email: `unknown` is not an e-mail address; expected an address such as `name@example.com`, the domain in lower case
    10:19: metadata.catalog.organization: is an empty list; expected at least one item
    13:11: deploymentProfiles[0].type: `docker` is not known; expected `helm`, `compose` or `custom`
    16:34: deploymentProfiles[0].components[0].properties.repository: `https://example.com/x` is malformed; expected an OCI repository such as `oci://registry.example.com/name`
    16:69: deploymentProfiles[0].components[0].properties.revision: `v1.0` is malformed; expected a SemVer 2.0 version such as `1.4.0` or `1.4.0-rc.1_build`, without `v`
    16:84: deploymentProfiles[0].components[0].properties.timeout: `30s` is malformed; expected minutes and seconds such as `8m30s` or `0m45s`
    16:95: deploymentProfiles[0].components[0].properties.wait: `yes` is a text; expected `true` or `false`
    17:15: deploymentProfiles[0].components[1].name: component `agent` is given twice; expected another name than that of item 0
    19:28: deploymentProfiles[0].components[1].x-acme-extensions: `5` is a number; expected a mapping, as all extensions are
    26:43: deploymentProfiles[1].deviceConstraints.capacityRequirements.cpu.cores: `-1` is a negative number; expected a number of cores such as `2` or `0.5`
    26:63: deploymentProfiles[1].deviceConstraints.capacityRequirements.cpu.architectures[0]: `x86` is not known; expected `amd64`, `arm64`, `arm`, `riscv64` or `other`
    26:78: deploymentProfiles[1].deviceConstraints.capacityRequirements.memory: `512MB` is malformed; expected a whole number with a unit `Ki`, `Mi`, `Gi`, `Ti`, `Pi` or `Ei`, such as `512Mi`
    30:23: deploymentProfiles[1].deviceConstraints.eligibilityRules[0].propertySelector.matchExpressions[0].key: `peripherals` is not a JSON Pointer; expected a JSON Pointer such as `/peripherals` or `/cpus/0/cores`
    30:46: deploymentProfiles[1].deviceConstraints.eligibilityRules[0].propertySelector.matchExpressions[0].operator: `Contains` is not known (did you mean `ContainsAll`?); expected `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `ContainsAll` or `ContainsAny`
    31:17: deploymentProfiles[1].deviceConstraints.eligibilityRules[0].propertySelector.matchExpressions[1]: `ContainsAll` has no `itemSelector`; expected `itemSelector`
    31:61: deploymentProfiles[1].deviceConstraints.eligibilityRules[0].propertySelector.matchExpressions[1].values: `ContainsAll` takes no values; expected no `values`
    32:54: deploymentProfiles[1].deviceConstraints.eligibilityRules[0].propertySelector.matchExpressions[2].values: `Gt` has no single number; expected `values` with one number
    33:54: deploymentProfiles[1].deviceConstraints.eligibilityRules[0].propertySelector.matchExpressions[3].values: values are of different types; expected values of one type
    34:9: deploymentProfiles[2].id: profile `two` is given twice; expected another id than that of item 1
    40:18: parameters.empty.value: is a mapping; expected a text, number or boolean, or a list of these
    40:35: parameters.empty.targets: is an empty list; expected at least one item
    42:15: parameters.port.targets[0].components: is missing; expected `components`, which is required
    47:68: configuration.sections[0].settings[0].immutable: `1` is a number; expected `true` or `false`
    49:30: configuration.schema[0].dataType: `text` is not known; expected `string`, `integer`, `double`, `boolean`, `array[string]`, `array[integer]`, `array[double]` or `array[boolean]`
    50:53: configuration.schema[1].regexMatch: `(` is not a pattern; expected a regular expression
    50:69: configuration.schema[1].minLength: `-1` is a negative number; expected an integer that is not negative
    ");
}

#[test]
fn description_whose_parts_do_not_fit_together() {
    let text = r#"
apiVersion: v1
id: pump
metadata: {name: Pump, version: 1.0, catalog: {organization: [{name: Example}]}}
deploymentProfiles:
  - id: one
    type: compose
    components:
      - name: agent
        properties: {repository: oci://example.com/x, revision: 1.0.0}
parameters:
  port:
    value: 70000
    targets: [{pointer: PORT, components: [agent, store]}]
configuration:
  sections:
    - name: Main
      settings:
        - {parameter: port, name: Port, schema: port}
        - {parameter: prot, name: Port, schema: prt}
  schema:
    - {name: port, dataType: integer, maxValue: 65535}
"#;
    insta::assert_snapshot!(render(ApplicationDescription::parse(text.as_bytes()).unwrap_err()), @r"
    14:51: parameters.port.targets[0].components[1]: component `store` does not exist; expected the name of a component of a profile
    19:23: configuration.sections[0].settings[0].parameter: the default value is `70000`; expected at most 65535
    20:23: configuration.sections[0].settings[1].parameter: parameter `prot` does not exist; expected the name of a parameter under `parameters`
    20:49: configuration.sections[0].settings[1].schema: schema `prt` does not exist; expected the name of a schema under `configuration.schema`
    ");
}

#[test]
fn deployment_with_many_mistakes() {
    let text = r#"
id: pump-1
kind: ApplicationDeployment
metadata:
  name: pump
  deviceId: plant/../box
  labels: [a]
spec:
  applicationId:
  deploymentProfile:
    type: compose
    components:
      - properties: {repositroy: oci://example.com/x, revision: 1.0}
  parameters:
    port: 5
"#;
    insta::assert_snapshot!(render(ApplicationDeployment::parse(text.as_bytes()).unwrap_err()), @r"
    2:5: id: `pump-1` has the character `p`; expected a UUID such as `6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40`
    3:1: warning: kind: key `kind` is not known; expected `id`, `metadata` or `spec`
    5:3: metadata.namespace: is missing; expected `namespace`, which is required
    6:13: metadata.deviceId: `plant/../box` has the segment `..`; expected a device id such as `gateway/device`, or `gateway/*`
    7:11: metadata.labels: is a list; expected a mapping
    9:16: spec.applicationId: has no value; expected `applicationId`, which is required
    13:9: spec.deploymentProfile.components[0].name: is missing; expected `name`, which is required
    13:21: spec.deploymentProfile.components[0].properties.repository: is missing; expected `repository`, which is required
    13:22: warning: spec.deploymentProfile.components[0].properties.repositroy: key `repositroy` is not known (did you mean `repository`?); expected `repository`, `revision`, `wait` or `timeout`
    13:65: spec.deploymentProfile.components[0].properties.revision: `1.0` is malformed; expected a SemVer 2.0 version such as `1.4.0` or `1.4.0-rc.1_build`, without `v`
    15:11: spec.parameters.port: `5` is a number; expected a mapping
    ");
}

#[test]
fn capabilities_with_many_mistakes() {
    let text = r#"{
      "apiVersion": "v1",
      "properties": {
        "id": "plant/", "vendor": 5, "modelNumber": "x",
        "cpus": [{"architecture": "x86"}], "memory": "lots", "otelCollector": "true",
        "peripherals": [{"type": "gpu"}, {"type": "printer"}],
        "supportedRuntimes": ["OCI"], "supportedDeploymentTypes": []
      },
      "labels": {"a": {"b": 1}, "c": [1, "d"]},
      "x-acme-extensions": []
    }"#;
    insta::assert_snapshot!(render(Capabilities::parse(text.as_bytes()).unwrap_err()), @r"
    apiVersion: key `apiVersion` is not known; expected `properties` or `labels`
    labels.a: is a mapping; expected a text, number or boolean, or a list of texts or of numbers
    labels.c: is a list; expected a text, number or boolean, or a list of texts or of numbers
    properties.cpus[0].architecture: `x86` is not known; expected `amd64`, `arm64` or `arm`
    properties.cpus[0].cores: is missing; expected `cores`, which is required
    properties.id: `plant/` has the segment ``; expected segments of letters, digits, `.`, `_`, `~` and `-`, joined by `/`
    properties.memory: `lots` is malformed; expected a whole number with a unit `Ki`, `Mi`, `Gi`, `Ti`, `Pi` or `Ei`, such as `512Mi`
    properties.otelCollector: `true` is a text; expected `true` or `false`
    properties.peripherals[1].type: `printer` is not known; expected `gpu`, `display`, `camera`, `microphone` or `speaker`
    properties.serialNumber: is missing; expected `serialNumber`, which is required
    properties.supportedDeploymentTypes: is an empty list; expected at least one item
    properties.supportedRuntimes[0]: `OCI` is not known (did you mean `oci`?); expected `oci` or `custom`
    properties.vendor: `5` is a number; expected a text
    x-acme-extensions: is a list; expected a mapping, as all extensions are
    ");
}

#[test]
fn status_with_many_mistakes() {
    let text = r#"{
      "deploymentId": "", "deviceId": "a b", "adoptedManifestVersion": 9007199254740992,
      "status": {"state": "Running"}, "components": [{"state": "installed", "error": "no"}],
      "x-colony-extensions": {"report": -1, "log": "all"}
    }"#;
    insta::assert_snapshot!(render(DeploymentStatus::parse(text.as_bytes()).unwrap_err()), @r"
    adoptedManifestVersion: manifest version 9007199254740992 is not below 2^53, where JSON numbers are exact; expected a version from 1 to below 2^53
    components[0].error: `no` is a text; expected a mapping
    components[0].name: is missing; expected `name`, which is required
    deploymentId: is empty; expected a text
    deviceId: `a b` has the character ` `; expected segments of letters, digits, `.`, `_`, `~` and `-`, joined by `/`
    status.state: `Running` is not known; expected `pending`, `installing`, `installed`, `failed`, `removing` or `removed`
    x-colony-extensions.log: `all` is a text; expected a list
    x-colony-extensions.report: `-1` is a negative number; expected an integer that is not negative
    ");
}

#[test]
fn unknown_keys_only_warn() {
    let text = r#"
id: 6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40
metadata: {name: pump, namespace: pumps, deviceId: box, anotations: {}}
spec:
  applicationId: pump
  deploymentProfile:
    type: compose
    components:
      - name: agent
        properties: {repository: oci://example.com/x, revision: 1.0.0, wiat: true}
  parameters:
    port: {value: 5, targets: [{pointer: PORT, components: [agent, chart]}]}
  future: 1
"#;
    let parsed = ApplicationDeployment::parse(text.as_bytes()).unwrap();
    insta::assert_snapshot!(render(parsed.warnings), @r"
    3:57: warning: metadata.anotations: key `anotations` is not known; expected `name`, `namespace`, `deviceId` or `labels`
    10:72: warning: spec.deploymentProfile.components[0].properties.wiat: key `wiat` is not known (did you mean `wait`?); expected `repository`, `revision`, `wait` or `timeout`
    12:68: warning: spec.parameters.port.targets[0].components[1]: component `chart` does not exist; expected the name of a component of a profile
    13:3: warning: spec.future: key `future` is not known; expected `applicationId`, `deploymentProfile` or `parameters`
    ");
}

fn render(findings: Vec<Finding>) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
