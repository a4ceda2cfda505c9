//! Which images a node removes: the rule, for every engine.
//!
//! An image that something needs stays. One that nothing needs stays for a
//! time, because a deployment may come back, and goes at once when the disk has
//! little room.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use colony_margo::DeploymentId;

use crate::time::Timestamp;

/// How long images are kept that nothing needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImagePolicy {
    pub keep: Duration,
    /// With less free space than this, in bytes, none of them is kept.
    pub low: u64,
}

impl Default for ImagePolicy {
    fn default() -> ImagePolicy {
        ImagePolicy { keep: Duration::from_secs(24 * 3600), low: 1 << 30 }
    }
}

/// An image that a node has fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FetchedImage {
    /// Since when nothing has needed it. `None`: something does, or did when
    /// this was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unneeded: Option<Timestamp>,
    /// The deployments that have used it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub users: BTreeSet<DeploymentId>,
}

/// The images that a node has fetched, by name. Earlier releases stored
/// nothing about one, `null`.
pub type FetchedImages = BTreeMap<String, Option<FetchedImage>>;

/// Records that a deployment uses an image, if the node has fetched it; returns
/// whether that is new.
pub fn note_user(images: &mut FetchedImages, name: &str, user: &DeploymentId) -> bool {
    let image = images.get_mut(name).map(Option::get_or_insert_default);
    image.is_some_and(|it| it.users.insert(user.clone()))
}

/// The images of a deployment are not to be kept: those that no other one has
/// used go as soon as nothing needs them. Returns whether there are any.
pub fn discard(images: &mut FetchedImages, user: &DeploymentId) -> bool {
    let mut found = false;
    for image in images.values_mut().flatten() {
        if image.users.remove(user) {
            found = true;
            if image.users.is_empty() {
                image.unneeded = Some(Timestamp(0));
            }
        }
    }
    found
}

/// Records which images are needed, and returns those to remove. `free` is the
/// free space where images are kept, if it is known.
pub fn review(
    images: &mut FetchedImages,
    needed: &BTreeSet<String>,
    policy: ImagePolicy,
    free: Option<u64>,
    now: Timestamp,
) -> BTreeSet<String> {
    let low = free.is_some_and(|it| it < policy.low);
    let mut gone = BTreeSet::new();
    for (name, state) in images {
        let image = state.get_or_insert_default();
        if needed.contains(name) {
            image.unneeded = None;
            continue;
        }
        // A clock that went back must not keep an image for longer.
        let since = image.unneeded.map_or(now, |it| it.min(now));
        image.unneeded = Some(since);
        if low || now.since(since) >= policy.keep {
            gone.insert(name.clone());
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: Option<u64> = Some(100);

    #[test]
    fn unneeded_image_goes_after_its_time() {
        check("a=10", "", 19, PLENTY, "");
        check("a=10", "", 20, PLENTY, "a");
        check("a=10 b=15", "", 20, PLENTY, "a");
    }

    #[test]
    fn time_begins_when_nothing_needs_the_image_any_more() {
        check("a=-", "", 99, PLENTY, "");
        check("a=10", "a", 99, PLENTY, "");
        let mut images = images("a=10");
        review(&mut images, &names("a"), policy(), PLENTY, Timestamp(99_000));
        assert_eq!(
            review(&mut images, &names(""), policy(), PLENTY, Timestamp(100_000)),
            names("")
        );
        assert_eq!(
            review(&mut images, &names(""), policy(), PLENTY, Timestamp(110_000)),
            names("a")
        );
    }

    #[test]
    fn disk_with_little_room_keeps_only_what_is_needed() {
        check("a=10 b=10 c=-", "b", 11, Some(49), "a c");
        check("a=10 b=10 c=-", "b", 11, Some(50), "");
        check("a=10", "", 11, None, "");
    }

    #[test]
    fn clock_that_went_back_does_not_keep_an_image() {
        let mut images = images("a=90");
        assert_eq!(review(&mut images, &names(""), policy(), PLENTY, Timestamp(10_000)), names(""));
        assert_eq!(
            review(&mut images, &names(""), policy(), PLENTY, Timestamp(20_000)),
            names("a")
        );
    }

    #[test]
    fn image_that_is_not_to_be_kept_goes_when_nothing_needs_it() {
        let (a, b) = (user(1), user(2));
        let mut all = images("own=- shared=- other=-");
        for (name, user) in [("own", &a), ("shared", &a), ("shared", &b), ("other", &b)] {
            assert!(note_user(&mut all, name, user));
        }
        assert!(!note_user(&mut all, "own", &a), "that is known");
        assert!(!note_user(&mut all, "foreign", &a), "it was not fetched by us");
        assert!(discard(&mut all, &a));
        assert!(!discard(&mut all, &a));
        let now = Timestamp(1_000_000);
        assert_eq!(review(&mut all.clone(), &names("own"), policy(), PLENTY, now), names(""));
        assert_eq!(review(&mut all, &names(""), policy(), PLENTY, now), names("own"));
    }

    #[test]
    fn lists_of_earlier_releases_are_read() {
        let mut all: FetchedImages = serde_json::from_str(r#"{"a": null}"#).expect("a list");
        assert_eq!(review(&mut all, &names(""), policy(), PLENTY, Timestamp(0)), names(""));
        assert_eq!(review(&mut all, &names(""), policy(), PLENTY, Timestamp(10_000)), names("a"));
    }

    fn user(number: u8) -> DeploymentId {
        DeploymentId::from_bytes([number; 16])
    }

    /// Images are kept for 10 s, and 50 bytes must be free. `a=10`: nothing
    /// has needed `a` since second 10.
    #[track_caller]
    fn check(fetched: &str, needed: &str, now: u64, free: Option<u64>, expected: &str) {
        let mut images = images(fetched);
        let now = Timestamp(now * 1_000);
        assert_eq!(review(&mut images, &names(needed), policy(), free, now), names(expected));
    }

    fn policy() -> ImagePolicy {
        ImagePolicy { keep: Duration::from_secs(10), low: 50 }
    }

    fn images(text: &str) -> FetchedImages {
        let image = |it: &str| {
            let (name, since) = it.split_once('=').expect("name=second");
            let since = since.parse().ok().map(|it: u64| Timestamp(it * 1_000));
            let image = FetchedImage { unneeded: since, ..FetchedImage::default() };
            (name.to_owned(), Some(image))
        };
        text.split_whitespace().map(image).collect()
    }

    fn names(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }
}
