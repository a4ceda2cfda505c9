//! What an entry of `auths` is for: a registry, or the repositories below a
//! prefix there.

use std::fmt;

use crate::oci::registry::{HUB, RegistryLocation};

/// The key of Docker Hub in files of `docker login` is a URL of its first API.
const HUB_ALIASES: [&str; 2] = ["index.docker.io", "registry-1.docker.io"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scope {
    /// In lower case, with its port if one is given.
    host: String,
    /// Empty for the whole registry.
    path: String,
}

impl Scope {
    /// Reads a key: `host[:port]`, `host[:port]/prefix` as Podman writes it, or
    /// a URL. The path of a URL is that of an API and names no repository, and
    /// neither do the paths `v1` and `v2`.
    pub(super) fn read(key: &str) -> Option<Scope> {
        let url = ["https://", "http://"].into_iter().find_map(|it| key.strip_prefix(it));
        let (host, path) = match url.unwrap_or(key).trim_end_matches('/').split_once('/') {
            Some((host, path)) => (host, path),
            None => (url.unwrap_or(key).trim_end_matches('/'), ""),
        };
        let of_api = url.is_some() || matches!(path, "v1" | "v2");
        let path = if of_api { "" } else { path };
        // A registry without a name is checked with one.
        let name = if path.is_empty() { "x" } else { path };
        RegistryLocation::read(&format!("{host}/{name}"))?;
        Some(Scope { host: normalized(host), path: path.to_owned() })
    }

    /// How specific it is for a repository; `None` if it is for others. The
    /// longest prefix is the most specific.
    pub(super) fn rank(&self, place: &RegistryLocation) -> Option<usize> {
        let below = place.name.strip_prefix(&self.path)?;
        let whole = self.path.is_empty() || below.is_empty() || below.starts_with('/');
        (whole && self.host == normalized(&place.host)).then_some(self.path.len())
    }
}

fn normalized(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    if HUB_ALIASES.contains(&host.as_str()) { HUB.to_owned() } else { host }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.path.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{}", self.host, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_docker_and_podman_write_them() {
        check("https://index.docker.io/v1/", Some("docker.io"));
        check("registry-1.docker.io", Some("docker.io"));
        check("docker.io/library", Some("docker.io/library"));
        check("Registry.Example:5000", Some("registry.example:5000"));
        check("http://registry.example:5000/v2/", Some("registry.example:5000"));
        check("https://registry.example/any/path", Some("registry.example"));
        check("registry.example/v1/", Some("registry.example"));
        check("registry.example/line3/cameras", Some("registry.example/line3/cameras"));
        check("[::1]:5000", Some("[::1]:5000"));
        for key in ["", "/", "https://", "user:word@registry.example", "a b", "a/../b", "a//b"] {
            check(key, None);
        }
    }

    #[test]
    fn prefix_ends_at_a_slash() {
        rank("r.example", "r.example/a/b", Some(0));
        rank("r.example/a", "r.example/a/b", Some(1));
        rank("r.example/a/b", "r.example/a/b", Some(3));
        rank("r.example/a/b", "r.example/a/bc", None);
        rank("r.example/a/b/c", "r.example/a/b", None);
        rank("r.example", "r.example:5000/a", None);
        rank("R.example", "r.Example/a", Some(0));
        rank("https://index.docker.io/v1/", "docker.io/library/busybox", Some(0));
        rank("docker.io", "index.docker.io/library/busybox", Some(0));
    }

    #[track_caller]
    fn check(key: &str, expected: Option<&str>) {
        let scope = Scope::read(key).map(|it| it.to_string());
        assert_eq!(scope.as_deref(), expected, "{key}");
    }

    #[track_caller]
    fn rank(key: &str, place: &str, expected: Option<usize>) {
        let scope = Scope::read(key).expect("a scope");
        let place = RegistryLocation::read(place).expect("a place");
        assert_eq!(scope.rank(&place), expected, "{key} for {place}");
    }
}
