//! Names and labels of releases.
//!
//! Helm writes the labels to its record of the release. Values of Kubernetes
//! labels have at most 63 characters, so digests are shortened or encoded.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{ComponentName, DeploymentId, Digest};

use crate::job::Job;

pub(super) const IDENTITY: &str = "colony.identity";
pub(super) const DEPLOYMENT: &str = "colony.deployment";
const NODE: &str = "colony.node";
const COMPONENT: &str = "colony.component";
const FINGERPRINT: &str = "colony.fingerprint";
/// The digest of the chart, in hex and shortened.
const CHART: &str = "colony.chart";
/// The revision of the release, as Helm counts, that the node made.
pub(super) const REVISION: &str = "colony.revision";
/// An annotation: the release is about to be replaced.
pub(super) const REPLACED: &str = "colony.replaced";

/// Helm's limit.
const NAME_LIMIT: usize = 53;
const HASH: usize = 6;
const SHORT: usize = 40;

/// Namespaces that belong to the cluster.
const RESERVED: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

/// Where a release is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReleaseId {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// What a release was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) deployment: DeploymentId,
    pub(super) component: ComponentName,
    pub(super) fingerprint: Digest,
    /// See [`chart_mark`].
    pub(super) chart: String,
}

impl ReleaseId {
    /// The release of a job, or what is wrong with its namespace. `allowed` are
    /// the namespaces of the node's setting; none means every one.
    pub(super) fn of(job: &Job, allowed: &BTreeSet<String>) -> Result<ReleaseId, Failure> {
        let namespace = job.subject.document.metadata.namespace.clone();
        check_namespace(&namespace, allowed)?;
        let name = release_name(&[job.name(), job.component.as_str()]);
        Ok(ReleaseId { namespace, name })
    }
}

fn check_namespace(namespace: &str, allowed: &BTreeSet<String>) -> Result<(), Failure> {
    let invalid = |message| Err(Failure::new(Code::InvalidConfig, message));
    if !is_label(namespace) {
        return invalid(format!("`{namespace}` is not the name of a Kubernetes namespace"));
    }
    if RESERVED.contains(&namespace) {
        return invalid(format!("the namespace `{namespace}` belongs to the cluster"));
    }
    if allowed.is_empty() || allowed.contains(namespace) {
        return Ok(());
    }
    let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let message = format!(
        "the namespace `{namespace}` is not allowed on this node: its setting `node.namespaces` has {}",
        names.join(", ")
    );
    Err(Failure::new(Code::NotEligible, message))
}

impl Origin {
    pub(super) fn of(job: &Job, chart: &str) -> Origin {
        Origin {
            deployment: job.deployment.clone(),
            component: job.component.clone(),
            fingerprint: job.fingerprint,
            chart: chart_mark(chart),
        }
    }

    pub(super) fn labels(
        &self,
        node: &str,
        identity: &str,
        revision: u64,
    ) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            (NODE, label(node)),
            (IDENTITY, identity_mark(identity)),
            (DEPLOYMENT, self.deployment.to_string()),
            (COMPONENT, self.component.to_string()),
            (FINGERPRINT, encode(&self.fingerprint)),
            (CHART, self.chart.clone()),
            (REVISION, revision.to_string()),
        ])
    }

    pub(super) fn read(labels: &BTreeMap<String, String>) -> Option<Origin> {
        let get = |key| labels.get(key);
        Some(Origin {
            deployment: get(DEPLOYMENT)?.parse().ok()?,
            component: get(COMPONENT)?.parse().ok()?,
            fingerprint: decode(get(FINGERPRINT)?)?,
            chart: get(CHART).cloned().unwrap_or_default(),
        })
    }
}

/// Selects what has the labels of some identities, and of one deployment.
pub(super) fn selector<'a>(
    identities: impl Iterator<Item = &'a str>,
    deployment: Option<&DeploymentId>,
) -> String {
    let marks: Vec<String> = identities.map(identity_mark).collect();
    let mut selector = format!("{IDENTITY} in ({})", marks.join(","));
    if let Some(deployment) = deployment {
        selector.push_str(&format!(",{DEPLOYMENT}={deployment}"));
    }
    selector
}

/// Selects the records of releases of some identities.
pub(super) fn records<'a>(
    identities: impl Iterator<Item = &'a str>,
    deployment: Option<&DeploymentId>,
) -> String {
    format!("owner=helm,{}", selector(identities, deployment))
}

/// The value of the label for an identity.
pub(super) fn identity_mark(identity: &str) -> String {
    Digest::of(identity.as_bytes()).hex()[..SHORT].to_owned()
}

/// The value of the label for the digest of a chart, given in hex.
pub(super) fn chart_mark(hex: &str) -> String {
    hex.chars().take(SHORT).collect()
}

/// A name Helm takes: of the parts where that is possible, and unique always.
fn release_name(parts: &[&str]) -> String {
    let whole = parts.join("-");
    let plain = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
    let name: String = whole.chars().map(plain).collect();
    let name = name.trim_matches('-');
    if name == whole && name.len() <= NAME_LIMIT {
        return name.to_owned();
    }
    let hash = &Digest::of(whole.as_bytes()).hex()[..HASH];
    let start: String = name.chars().take(NAME_LIMIT - HASH - 1).collect();
    match start.trim_matches('-') {
        "" => format!("release-{hash}"),
        start => format!("{start}-{hash}"),
    }
}

fn is_label(text: &str) -> bool {
    let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(plain) && text.bytes().last().is_some_and(plain);
    ends && text.len() <= 63 && text.bytes().all(|it| plain(it) || it == b'-')
}

/// The text as the value of a label.
fn label(text: &str) -> String {
    let fits = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let text: String = text.chars().filter(|it| fits(*it)).take(63).collect();
    text.trim_matches(|it: char| !it.is_ascii_alphanumeric()).to_owned()
}

/// Values of labels begin and end with a letter or digit.
fn encode(digest: &Digest) -> String {
    format!("x{}x", URL_SAFE_NO_PAD.encode(digest.as_bytes()))
}

fn decode(text: &str) -> Option<Digest> {
    let inner = text.strip_prefix('x')?.strip_suffix('x')?;
    let bytes = URL_SAFE_NO_PAD.decode(inner).ok()?;
    let hex: String = bytes.iter().map(|it| format!("{it:02x}")).collect();
    format!("sha256:{hex}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_where_helm_takes_them() {
        check(&["hello", "web"], "hello-web");
        check(&["Grüße", "web"], "gr--e-web-");
        check(&["hello_1", "web"], "hello-1-web-");
        assert_eq!(release_name(&[&"x".repeat(70), "web"]).len(), NAME_LIMIT);
        assert_ne!(release_name(&["a_b", "c"]), release_name(&["a.b", "c"]));
        assert!(release_name(&["", ""]).starts_with("release-"));
    }

    #[test]
    fn labels_read_back_as_written_and_fit_into_kubernetes() {
        let origin = Origin {
            deployment: DeploymentId::from_bytes([7; 16]),
            component: "web".parse().unwrap(),
            fingerprint: Digest::of(b"web"),
            chart: chart_mark(&Digest::of(b"chart").hex()),
        };
        let labels = origin.labels("n1", "site/n1", 3);
        for value in labels.values() {
            let end = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
            assert!(value.len() <= 63 && end(value.chars().next()) && end(value.chars().last()));
        }
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        assert_eq!(Origin::read(&labels), Some(origin));
        assert_eq!(Origin::read(&BTreeMap::new()), None);
    }

    #[test]
    fn namespaces_are_names_of_kubernetes() {
        for (text, good) in
            [("default", true), ("margo-poc", true), ("-a", false), ("A", false), ("", false)]
        {
            assert_eq!(is_label(text), good, "{text}");
        }
    }

    #[test]
    fn namespaces_are_allowed_by_the_node() {
        let check = |namespace: &str, allowed: &[&str]| {
            let allowed = allowed.iter().map(|it| (*it).to_owned()).collect();
            check_namespace(namespace, &allowed).map_err(|it| (it.code, it.message))
        };
        assert_eq!(check("line", &[]), Ok(()));
        assert_eq!(check("line", &["line", "hall"]), Ok(()));
        let (code, message) = check("other", &["line", "hall"]).unwrap_err();
        assert_eq!(code, Code::NotEligible);
        assert_eq!(
            message,
            "the namespace `other` is not allowed on this node: its setting `node.namespaces` has hall, line"
        );
        // A setting gives nothing away that is the cluster's.
        assert_eq!(check("kube-system", &["kube-system"]).unwrap_err().0, Code::InvalidConfig);
    }

    /// An expected name that ends with a hyphen goes on with a hash.
    #[track_caller]
    fn check(parts: &[&str], expected: &str) {
        let name = release_name(parts);
        let found = match expected.ends_with('-') {
            true => &name[..name.len() - HASH],
            false => name.as_str(),
        };
        assert_eq!(found, expected, "{parts:?}");
    }
}
