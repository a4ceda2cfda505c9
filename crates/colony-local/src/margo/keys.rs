//! The public keys that nodes authenticate with.
//!
//! A name alone is not enough: a retired node keeps its certificate for a
//! while, and its name may be given to another machine. The keys are kept in
//! memory, because every request checks one, and loaded from disk at the start.
//!
//! A node whose key is unknown (its identity is older than stored keys, or was
//! issued by an earlier orchestrator) is identified by its name until it
//! renews.

use std::collections::BTreeMap;

use colony_core::id::NodeName;
use colony_core::margo::Digest;
use colony_store::{LocalStore, NodeIdentity};
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<NodeName, StoredKey>>);

#[derive(Debug, Clone, Copy)]
struct StoredKey {
    current: Digest,
    /// The previous key, until the node presents the current one: the answer
    /// with that certificate may have been lost.
    before: Option<Digest>,
}

impl Keys {
    pub(crate) async fn load(store: &LocalStore) -> Result<Keys, colony_store::Error> {
        let keys = Keys::default();
        store.node_list().await?.iter().for_each(|it| keys.put(it));
        Ok(keys)
    }

    /// Stores the keys of an identity that was issued.
    pub(super) fn put(&self, given: &NodeIdentity) {
        let digest = |it: &String| it.parse::<Digest>().ok();
        let Ok(node) = given.name.parse::<NodeName>() else { return };
        match given.key.as_ref().and_then(digest) {
            Some(current) => {
                let before = given.before.as_ref().and_then(digest);
                self.0.lock().insert(node, StoredKey { current, before });
            }
            None => drop(self.0.lock().remove(&node)),
        }
    }

    /// Whether `shown` is a valid key of the node. Once the node presents its
    /// current key, the previous one is invalid.
    pub(super) fn accepts(&self, node: &NodeName, shown: Option<Digest>) -> bool {
        let mut kept = self.0.lock();
        let Some(known) = kept.get_mut(node) else { return true };
        if shown == Some(known.current) {
            known.before = None;
            return true;
        }
        shown.is_some() && shown == known.before
    }

    /// The key that stays valid until the node presents its next one.
    pub(super) fn stays(&self, node: &NodeName) -> Option<Digest> {
        self.0.lock().get(node).map(|it| it.before.unwrap_or(it.current))
    }
}

#[cfg(test)]
mod tests {
    use colony_core::time::Timestamp;

    use super::*;

    #[test]
    fn only_the_key_in_force_is_taken() {
        check(Some("b"), None, "a b -", "no yes no");
    }

    #[test]
    fn the_key_before_is_taken_until_the_next_one_is_seen() {
        check(Some("b"), Some("a"), "a c a b a b", "yes no yes yes no yes");
    }

    #[test]
    fn without_a_key_the_name_counts() {
        check(None, None, "a b", "yes yes");
    }

    #[test]
    fn a_renewal_whose_answer_is_lost_leaves_the_key_that_is_used() {
        let (keys, node) = (keys(Some("b"), Some("a")), "n".parse().expect("a name"));
        assert_eq!(keys.stays(&node), Some(digest("a")), "the next one was never seen");
        assert!(keys.accepts(&node, Some(digest("b"))));
        assert_eq!(keys.stays(&node), Some(digest("b")));
    }

    #[track_caller]
    fn check(key: Option<&str>, before: Option<&str>, shown: &str, expected: &str) {
        let (keys, node) = (keys(key, before), "n".parse().expect("a name"));
        let answers = shown.split(' ').map(|it| {
            let shown = (it != "-").then(|| digest(it));
            if keys.accepts(&node, shown) { "yes" } else { "no" }
        });
        assert_eq!(answers.collect::<Vec<_>>().join(" "), expected);
    }

    fn keys(key: Option<&str>, before: Option<&str>) -> Keys {
        let text = |it: &str| digest(it).to_string();
        let keys = Keys::default();
        keys.put(&NodeIdentity {
            name: "n".to_owned(),
            fingerprint: String::new(),
            issued: Timestamp(1),
            expires: Timestamp(2),
            retired: false,
            key: key.map(text),
            before: before.map(text),
            former: Vec::new(),
        });
        keys
    }

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }
}
