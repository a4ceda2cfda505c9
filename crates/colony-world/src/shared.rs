//! A part of the world that states have in common until one of them changes it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that is copied when it changes while another state has it too.
///
/// It can carry a digest of its value. Every mutable access drops the digest,
/// so a digest never belongs to an earlier value.
#[derive(Debug, Clone, Default)]
pub struct Shared<T> {
    value: Arc<T>,
    digest: Option<u64>,
}

impl<T> Shared<T> {
    pub fn new(value: T) -> Shared<T> {
        Shared { value: Arc::new(value), digest: None }
    }

    /// The digest, if the value has not changed since it was set.
    pub fn digest(&self) -> Option<u64> {
        self.digest
    }

    pub fn set_digest(&mut self, digest: u64) {
        self.digest = Some(digest);
    }

    /// Drops the digest: it depended on something besides the value.
    pub fn forget_digest(&mut self) {
        self.digest = None;
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.digest = None;
        Arc::make_mut(&mut self.value)
    }
}
