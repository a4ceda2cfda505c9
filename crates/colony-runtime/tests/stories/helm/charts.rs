//! The charts of the stories.

use crate::kit::Registry;

/// Of `hello`: one workload with a readiness probe, and its configuration.
const VALUES: &str = "image: IMAGE\nreplicas: 1\nstrategy: Recreate\ndeadline: 600\npage: index.html\ngreeting: hello\ncommand: 'httpd -p 8080 -h /www; sleep 3600'\nprobe: index.html\n";
const SCHEMA: &str =
    r#"{"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 3}}}"#;
const WEB: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  strategy: {type: {{ .Values.strategy }}}
  progressDeadlineSeconds: {{ .Values.deadline }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      containers:
      - name: web
        image: {{ .Values.image | quote }}
        command: ["/bin/sh", "-c", {{ printf "echo %s; %s" .Values.greeting .Values.command | quote }}]
        readinessProbe:
          exec: {command: ["/bin/wget", "-q", "-O", "/dev/null", {{ printf "http://127.0.0.1:8080/%s" .Values.probe | quote }}]}
          periodSeconds: 1
"#;
const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-settings}\ndata: {greeting: {{ .Values.greeting | quote }}}\n";

/// A stateful set with what a test needs in its pods.
const DATABASE: &str = r#"apiVersion: apps/v1
kind: StatefulSet
metadata: {name: {{ .Release.Name }}}
spec:
  serviceName: none
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: db
        image: {{ .Values.image | quote }}
        command: ["/bin/sleep", "3600"]
        {{- with .Values.secret }}
        envFrom: [{secretRef: {name: {{ . }}}}]
        {{- end }}
        {{- if .Values.storage }}
        volumeMounts: [{name: data, mountPath: /data}]
        {{- end }}
        {{- with .Values.cpu }}
        resources: {requests: {cpu: {{ . }}}}
        {{- end }}
  {{- with .Values.storage }}
  volumeClaimTemplates:
  - {metadata: {name: data, labels: {app.kubernetes.io/instance: {{ $.Release.Name }}}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: {{ . }}}}}}
  {{- end }}
"#;
/// A hook that runs a command.
const HOOK: &str = r#"apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers:
      - {name: hook, image: {{ .Values.image | quote }}, command: ["/bin/sh", "-c", {{ .Values.command | quote }}]}
"#;
/// A kind of its own, and an object of it.
const THINGS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things, singular: thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
const THING: &str = "apiVersion: example.com/v1
kind: Thing
metadata: {name: {{ .Release.Name }}}
spec: {cluster: {{ .Capabilities.KubeVersion.Version }}, color: {{ .Values.color }}}
";

/// Charts that use this image.
pub(super) fn publish(registry: &Registry, image: &str) {
    let values = VALUES.replace("IMAGE", image);
    for version in ["1.0.0", "2.0.0"] {
        let files = [
            ("values.yaml", values.as_str()),
            ("values.schema.json", SCHEMA),
            ("templates/web.yaml", WEB),
            ("templates/settings.yaml", SETTINGS),
        ];
        publish_one(registry, "hello", version, &files);
    }
    let values = format!("image: {image}\n");
    let files = [("values.yaml", values.as_str()), ("templates/db.yaml", DATABASE)];
    publish_one(registry, "database", "1.0.0", &files);
    let values = format!("image: {image}\ncommand: exit 0\n");
    let files = [("values.yaml", values.as_str()), ("templates/hook.yaml", HOOK)];
    publish_one(registry, "hooked", "1.0.0", &files);
    for version in ["1.0.0", "2.0.0"] {
        let files = [
            ("values.yaml", "color: red\n"),
            ("crds/things.yaml", THINGS),
            ("templates/thing.yaml", THING),
        ];
        publish_one(registry, "kinds", version, &files);
    }
    let fails = [("templates/x.yaml", "{{ fail \"a port is missing\" }}")];
    publish_one(registry, "broken", "1.0.0", &fails);
    let nothing = "apiVersion: none.example/v1\nkind: Nothing\nmetadata: {name: x}\n";
    publish_one(registry, "unknown", "1.0.0", &[("templates/x.yaml", nothing)]);
}

fn publish_one(registry: &Registry, name: &str, version: &str, files: &[(&str, &str)]) {
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let files = [&[("Chart.yaml", chart.as_str())], files].concat();
    registry.push_chart(name, version, &files);
}
