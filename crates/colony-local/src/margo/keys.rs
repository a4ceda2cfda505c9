//! Which keys nodes show.
//!
//! A name alone is not enough: a node that was retired keeps its certificate for
//! a while, and its name may be given to another machine. Kept in memory, for it is
//! asked with every request; what is on disk is read at the start.
//!
//! A node whose key is not known (its identity is from before keys were kept, or
//! from an orchestrator before this one) is known by its name until it renews.

use std::collections::BTreeMap;

use colony_core::id::NodeName;
use colony_margo::Digest;
use colony_store::{LocalStore, NodeIdentity};
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<NodeName, Kept>>);

#[derive(Debug, Clone, Copy)]
struct Kept {
    current: Digest,
    /// The one before, until the current one is seen: the answer that brought it
    /// may have been lost.
    before: Option<Digest>,
}

impl Keys {
    pub(crate) async fn load(store: &LocalStore) -> Result<Keys, colony_store::Error> {
        let keys = Keys::default();
        store.node_list().await?.iter().for_each(|it| keys.put(it));
        Ok(keys)
    }

    /// Notes the identity that was given to a node.
    pub(super) fn put(&self, given: &NodeIdentity) {
        let digest = |it: &String| it.parse::<Digest>().ok();
        let Ok(node) = given.name.parse::<NodeName>() else { return };
        match given.key.as_ref().and_then(digest) {
            Some(current) => {
                let before = given.before.as_ref().and_then(digest);
                self.0.lock().insert(node, Kept { current, before });
            }
            None => drop(self.0.lock().remove(&node)),
        }
    }

    /// Whether this is a key of the node. Once it shows the current one, the one
    /// before is over.
    pub(super) fn accepts(&self, node: &NodeName, shown: Option<Digest>) -> bool {
        let mut kept = self.0.lock();
        let Some(known) = kept.get_mut(node) else { return true };
        if shown == Some(known.current) {
            known.before = None;
            return true;
        }
        shown.is_some() && shown == known.before
    }

    /// The key that stays good until the node has shown its next one.
    pub(super) fn stays(&self, node: &NodeName) -> Option<Digest> {
        self.0.lock().get(node).map(|it| it.before.unwrap_or(it.current))
    }
}

#[cfg(test)]
mod tests {
    use colony_core::time::Wall;

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
            issued: Wall(1),
            expires: Wall(2),
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
