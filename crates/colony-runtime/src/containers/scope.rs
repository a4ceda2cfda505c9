//! Which objects on the engine belong to this node.
//!
//! A node's name is unique only within its site, and one machine may work for
//! two sites. So every created object also carries the node's identity, which
//! is globally unique. An object with another identity belongs to another node.
//! An object without one is older than identities, and belongs to this node if
//! the node knows its deployment: deployment ids are globally unique.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use colony_core::margo::{DeploymentId, DeviceId, Digest};
use parking_lot::Mutex;
use tracing::warn;

use crate::containers::label::{self, Care, Owner};
use crate::file;

/// Below the runtime's folder: the identities it was used under.
const FILE: &str = "identities.json";
/// Stands among them for the time before identities existed.
const NONE: &str = "";

#[derive(Debug)]
pub(crate) struct Scope {
    node: DeviceId,
    identity: String,
    /// Includes former ones: a node that had to join again is the same node.
    identities: BTreeSet<String>,
    known: Mutex<BTreeSet<DeploymentId>>,
}

/// The owner of an object, by the identity it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    Own,
    /// It carries no identity.
    Unlabeled,
    Foreign,
}

impl Scope {
    pub(crate) fn new(node: DeviceId, identity: &str) -> Scope {
        let identities = BTreeSet::from([identity.to_owned()]);
        Scope { node, identity: identity.to_owned(), identities, known: Mutex::default() }
    }

    /// Adds the identities under which the folder was used before.
    pub(crate) async fn open(node: DeviceId, identity: &str, dir: &Path) -> io::Result<Scope> {
        let mut scope = Scope::new(node, identity);
        let path = dir.join(FILE);
        let older = || BTreeSet::from([NONE.to_owned()]);
        let before: BTreeSet<String> = match file::read(&path).await? {
            Some(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|_| older()),
            None if file::names(dir).await?.is_empty() => BTreeSet::new(),
            None => older(),
        };
        let known = before.contains(identity);
        scope.identities.extend(before);
        if !known {
            scope.save(&path).await;
        }
        Ok(scope)
    }

    /// A full disk must not keep a node from its work: the next start derives
    /// the same from the folder.
    async fn save(&self, path: &Path) {
        let bytes = serde_json::to_vec_pretty(&self.identities).unwrap_or_default();
        if let Err(error) = file::replace(path, bytes, 0o600).await {
            warn!("could not write {}: {error}", path.display());
        }
    }

    /// Records the deployments that the node knows.
    pub(crate) fn note(&self, known: &BTreeSet<DeploymentId>) {
        let mut noted = self.known.lock();
        noted.clone_from(known);
    }

    pub(crate) fn ownership(&self, identity: Option<&String>) -> Ownership {
        match identity {
            None => Ownership::Unlabeled,
            Some(identity) if self.identities.contains(identity) => Ownership::Own,
            Some(_) => Ownership::Foreign,
        }
    }

    /// Whether an object with this identity and deployment is ours.
    pub(crate) fn owns(&self, identity: Option<&String>, deployment: Option<&String>) -> bool {
        match self.ownership(identity) {
            Ownership::Own => true,
            Ownership::Unlabeled => deployment.is_some_and(|it| self.knows(it)),
            Ownership::Foreign => false,
        }
    }

    fn knows(&self, deployment: &str) -> bool {
        let known = self.known.lock();
        known.iter().any(|it| it.as_str() == deployment)
    }

    /// The folder is older than identities.
    pub(crate) fn is_older(&self) -> bool {
        self.identities.contains(NONE)
    }

    /// The labels of a container.
    pub(crate) fn container(&self, owner: &Owner, care: &Care) -> HashMap<String, String> {
        let mut labels = owner.labels(&self.node, care);
        labels.extend(self.labels());
        labels
    }

    /// The labels of every object of this node.
    pub(crate) fn labels(&self) -> [(String, String); 2] {
        [
            (label::NODE.to_owned(), self.node.to_string()),
            (label::IDENTITY.to_owned(), self.identity.clone()),
        ]
    }

    pub(crate) fn name(&self, parts: &[&str]) -> String {
        label::name(&self.node, parts)
    }

    /// A mark for names that must be unique: differs from node to node.
    pub(crate) fn mark(&self, of: &str) -> String {
        Digest::of(format!("{}\n{of}", self.identity).as_bytes()).short()
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// All identities the node has had.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &str> {
        self.identities.iter().map(String::as_str).filter(|it| *it != NONE)
    }

    /// Selects objects that may be ours; `whose` and `owns` decide.
    pub(crate) fn filter(&self, deployment: Option<&DeploymentId>) -> Vec<String> {
        label::filter(&self.node, deployment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_remembers_under_which_identities_it_was_used() {
        let dir = tempfile::tempdir().unwrap();
        check(dir.path(), "a", "a", "b -").await;
        check(dir.path(), "b", "a b", "c -").await;
    }

    #[tokio::test]
    async fn a_folder_that_is_older_than_identities_is_told_by_what_lies_in_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("archives")).unwrap();
        check(dir.path(), "a", "a -", "b").await;
        check(dir.path(), "b", "a b -", "c").await;
        std::fs::write(dir.path().join(FILE), "[").unwrap();
        check(dir.path(), "b", "b -", "a").await;
    }

    #[test]
    fn what_has_no_identity_is_ours_if_its_deployment_is_known() {
        let scope = Scope::new("n1".parse().unwrap(), "a");
        let (mine, other) = (DeploymentId::from_bytes([1; 16]), DeploymentId::from_bytes([2; 16]));
        scope.note(&BTreeSet::from([mine.clone()]));
        for (identity, deployment, expected) in [
            (Some("a"), &other, true),
            (Some("b"), &mine, false),
            (None, &mine, true),
            (None, &other, false),
        ] {
            let (said, id) = (identity.map(str::to_owned), deployment.to_string());
            assert_eq!(scope.owns(said.as_ref(), Some(&id)), expected, "{identity:?} {id}");
        }
        assert!(!scope.owns(None, None));
    }

    #[test]
    fn what_is_made_carries_the_node_and_its_identity() {
        let scope = Scope::new("n1".parse().unwrap(), "a");
        let deployment = DeploymentId::from_bytes([7; 16]);
        let owner = Owner {
            deployment: deployment.clone(),
            component: "web".parse().unwrap(),
            fingerprint: Digest::of(b"web"),
            staged: false,
            service: "front".to_owned(),
        };
        let labels = scope.container(&owner, &Care::new(0, None, None));
        assert_eq!((&*labels[label::NODE], &*labels[label::IDENTITY]), ("n1", "a"));
        assert_eq!(Owner::read(&labels.into_iter().collect()), Some(owner));
        assert_eq!(scope.name(&["hello", "web"]), "colony-n1-hello-web");
        let node = format!("{}=n1", label::NODE);
        assert_eq!(scope.filter(None), std::slice::from_ref(&node));
        let of = format!("{}={deployment}", label::DEPLOYMENT);
        assert_eq!(scope.filter(Some(&deployment)), [node, of]);
    }

    #[test]
    fn nodes_of_one_name_have_marks_of_their_own() {
        let scope = |it| Scope::new("n1".parse().unwrap(), it);
        assert_eq!(scope("a").mark("x"), scope("a").mark("x"));
        assert_ne!(scope("a").mark("x"), scope("a").mark("y"));
        assert_ne!(scope("a").mark("x"), scope("b").mark("x"));
    }

    /// Opens the folder as `identity`; `-` stands for a time without any.
    async fn check(dir: &Path, identity: &str, ours: &str, others: &str) {
        let scope = Scope::open("n1".parse().unwrap(), identity, dir).await.unwrap();
        for (all, expected) in [(ours, true), (others, false)] {
            for it in all.split(' ') {
                let found = match it {
                    "-" => scope.is_older(),
                    said => scope.ownership(Some(&said.to_owned())) == Ownership::Own,
                };
                assert_eq!(found, expected, "{it} as {identity}");
            }
        }
    }
}
