//! Which of two versions is newer. Versions are texts and not always SemVer.
//!
//! Numbers compare as numbers, texts as texts. The part after the first `-`
//! marks a pre-release: it is older than the same version without it, and not
//! chosen by default while there is a release. The part after `+` does not
//! affect the order.

use std::cmp::Ordering;

/// Compares two versions by age.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let ((a_core, a_pre), (b_core, b_pre)) = (split(a), split(b));
    parts(a_core, b_core).then_with(|| match (a_pre, b_pre) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => parts(a, b),
    })
}

/// Whether the version is a pre-release, which is only chosen on request.
pub(crate) fn is_prerelease(version: &str) -> bool {
    split(version).1.is_some()
}

/// The version to use when none is named: the newest release, or the newest of
/// all if there are only pre-releases.
pub(crate) fn newest<'a>(versions: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let all: Vec<&str> = versions.into_iter().collect();
    let released = all.iter().filter(|it| !is_prerelease(it)).max_by(|a, b| compare(a, b));
    released.or_else(|| all.iter().max_by(|a, b| compare(a, b))).copied()
}

fn split(version: &str) -> (&str, Option<&str>) {
    let version = version.strip_prefix(['v', 'V']).unwrap_or(version);
    let version = version.split_once('+').map_or(version, |it| it.0);
    match version.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (version, None),
    }
}

fn parts(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split(['.', '-']), b.split(['.', '-']));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            // `1`, `1.0` and `1.00` are equal: missing parts count as zero.
            (Some(rest), None) if part(rest, "0").is_eq() => {}
            (Some(_), None) => return Ordering::Greater,
            (None, Some(rest)) if part(rest, "0").is_eq() => {}
            (None, Some(_)) => return Ordering::Less,
            (Some(a), Some(b)) if part(a, b).is_eq() => {}
            (Some(a), Some(b)) => return part(a, b),
        }
    }
}

fn part(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_is_taken_when_none_is_named() {
        check("1.0 1.1 1.2-bad", "1.1");
        check("1.9.0 1.10.0", "1.10.0");
        check("v2 10 9.9", "10");
        check("2024.10 2024.9", "2024.10");
        check("1.0+linux 1.0.1", "1.0.1");
    }

    #[test]
    fn a_prerelease_is_taken_when_there_is_nothing_else() {
        check("1.0-alpha 1.0-beta.2 1.0-beta.11", "1.0-beta.11");
    }

    #[test]
    fn a_release_is_newer_than_its_own_prereleases() {
        assert_eq!(compare("1.2", "1.2-bad"), Ordering::Greater);
        assert_eq!(compare("1.2-bad", "1.1"), Ordering::Greater);
        assert_eq!(compare("1.0", "1"), Ordering::Equal);
    }

    /// Sorting may panic if the comparison is not a total order.
    #[test]
    fn any_three_versions_have_an_order() {
        const ALL: [&str; 12] =
            ["1", "1.0", "1.00", "1.0.0", "01", "1.", "1.a", "1-0", "1-00", "1-a", "v1+x", ""];
        let pairs = || ALL.iter().flat_map(|a| ALL.iter().map(move |b| (a, b)));
        for (a, (b, c)) in ALL.iter().flat_map(|a| pairs().map(move |it| (a, it))) {
            let (ab, bc) = (compare(a, b), compare(b, c));
            assert_eq!(compare(b, a), ab.reverse(), "{a} {b}");
            assert!(ab != bc || compare(a, c) == ab, "{a} {ab:?} {b} {bc:?} {c}");
        }
    }

    #[track_caller]
    fn check(versions: &str, expected: &str) {
        assert_eq!(newest(versions.split(' ')), Some(expected));
    }
}
