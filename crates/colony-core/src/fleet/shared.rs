//! A part of the projection that snapshots share until one of them writes it.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that is cheap to clone and is copied by the first write after that.
///
/// Reads and writes go through `Deref`, so that it is used like the value
/// itself. A write copies the whole value if a snapshot still has it: keep what
/// changes together in one `Shared`, and what does not in another.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Shared<T> {
        Shared(Arc::new(value))
    }
}

impl<T: FromIterator<I>, I> FromIterator<I> for Shared<T> {
    fn from_iter<It: IntoIterator<Item = I>>(items: It) -> Shared<T> {
        Shared::from(items.into_iter().collect::<T>())
    }
}

impl<'a, K, V> IntoIterator for &'a Shared<BTreeMap<K, V>> {
    type Item = (&'a K, &'a V);
    type IntoIter = btree_map::Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> Shared<T> {
    /// Whether both are one value in memory: neither was written since they
    /// were cloned from each other.
    pub fn is_same(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
