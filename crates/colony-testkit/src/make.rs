//! Small valid documents, ids and capabilities.

use colony_core::id::{BlobId, DeploymentId, GitRevision, SiteName};
use colony_core::margo::{Capabilities, Digest};
use colony_core::site::{Content, File};

/// A builder for a deployment's file.
#[derive(Debug, Clone)]
pub struct App {
    pub name: String,
    pub version: String,
    /// `*` or a node's name.
    pub target: String,
    /// YAML below `spec.x-colony-extensions`, without indentation.
    pub settings: String,
    /// YAML below `spec.deploymentProfile.deviceConstraints`, without indentation.
    pub constraints: String,
    pub kind: String,
    /// Its id, if not the one of its name.
    pub id: Option<DeploymentId>,
}

impl App {
    pub fn new(name: &str, version: &str) -> App {
        App {
            name: name.to_owned(),
            version: version.to_owned(),
            target: "*".to_owned(),
            settings: String::new(),
            constraints: String::new(),
            kind: "compose".to_owned(),
            id: None,
        }
    }

    pub fn on(self, target: &str) -> App {
        App { target: target.to_owned(), ..self }
    }

    pub fn with(self, settings: &str) -> App {
        App { settings: settings.to_owned(), ..self }
    }

    /// Another deployment of the same name.
    pub fn with_id(self, id: DeploymentId) -> App {
        App { id: Some(id), ..self }
    }

    pub fn id(&self) -> DeploymentId {
        self.id.clone().unwrap_or_else(|| deployment_id(&self.name))
    }

    pub fn needing(self, constraints: &str) -> App {
        App { constraints: constraints.to_owned(), ..self }
    }

    pub fn text(&self, site: &SiteName) -> String {
        let App { name, version, target, kind, .. } = self;
        let id = self.id();
        let constraints = block("    deviceConstraints:", &self.constraints, 6);
        let settings = block("  x-colony-extensions:", &self.settings, 4);
        format!(
            "id: {id}\nmetadata:\n  name: {name}\n  namespace: default\n  deviceId: {site}/{target}\n\
             spec:\n  applicationId: {name}\n  deploymentProfile:\n    type: {kind}\n    components:\n      \
             - name: web\n        properties:\n          repository: oci://registry.test/{name}\n          \
             revision: {version}\n{constraints}  parameters: {{}}\n{settings}"
        )
    }

    pub fn file(&self, site: &SiteName) -> File {
        let text = self.text(site);
        let path = format!("deployments/{site}/{}.yaml", self.name);
        let file = File::read(site, &path, &blob(&text), text.as_bytes());
        if let Content::Refused(findings) = &file.content {
            panic!("the test's own document is broken: {findings:?}\n{text}");
        }
        file
    }
}

fn block(head: &str, body: &str, indent: usize) -> String {
    if body.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = body.lines().map(|it| format!("{:indent$}{it}\n", "")).collect();
    format!("{head}\n{}", lines.concat())
}

/// The same name always has the same id.
pub fn deployment_id(name: &str) -> DeploymentId {
    let digest = Digest::of(name.as_bytes()).to_string();
    let hex = &digest["sha256:".len()..];
    let text = format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    );
    text.parse().expect("a UUID")
}

/// A blob id that depends on the content, as Git's does.
pub fn blob(text: &str) -> BlobId {
    let digest = Digest::of(text.as_bytes()).to_string();
    digest["sha256:".len()..].parse().expect("64 hex digits")
}

/// The commit with this number.
pub fn commit_id(number: u64) -> GitRevision {
    format!("{number:040x}").parse().expect("40 hex digits")
}

/// A small colony node that runs compose applications.
pub fn capabilities(node: &str, architecture: &str, labels: &str) -> Capabilities {
    let more = if labels.is_empty() { "" } else { "," };
    foreign(node, architecture, &format!(r#""colony":"0.1.0"{more}{labels}"#))
}

/// The same for a device of another vendor: without the label `colony`.
pub(crate) fn foreign(node: &str, architecture: &str, labels: &str) -> Capabilities {
    let json = format!(
        r#"{{"properties":{{"id":"{node}","vendor":"colony","modelNumber":"test","serialNumber":"1",
        "cpus":[{{"cores":4,"architecture":"{architecture}"}}],"memory":"4Gi","storage":"32Gi",
        "peripherals":[],"interfaces":[{{"type":"ethernet"}}],"otelCollector":true,
        "supportedRuntimes":["oci"],"supportedDeploymentTypes":["compose"]}},"labels":{{{labels}}}}}"#
    );
    let parsed = Capabilities::parse(json.as_bytes()).expect("valid capabilities");
    parsed.value
}
