//! A location: a registry's host and a name there.

use std::fmt;

use crate::oci::source::BUILTIN;

/// Docker Hub.
pub(crate) const HUB: &str = "docker.io";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegistryLocation {
    /// With its port, if one is given.
    pub(crate) host: String,
    pub(crate) name: String,
}

impl RegistryLocation {
    /// Reads `host[:port]/name`.
    pub(crate) fn read(text: &str) -> Option<RegistryLocation> {
        let (host, name) = text.split_once('/')?;
        let segment = |it: &str| {
            !it.is_empty()
                && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it))
                && it.bytes().any(|it| it != b'.')
        };
        let name_is_good = name.split('/').all(segment);
        let host_is_good = host.bytes().any(|it| it.is_ascii_alphanumeric())
            && host.bytes().all(|it| it.is_ascii_alphanumeric() || b".-:[]".contains(&it));
        (name_is_good && host_is_good)
            .then(|| RegistryLocation { host: host.to_owned(), name: name.to_owned() })
    }

    /// The location of an image, without tag and digest. A name without a host
    /// is one of Docker Hub, for both engines.
    pub(crate) fn of_image(name: &str) -> Option<RegistryLocation> {
        let first = name.split_once('/').map(|it| it.0);
        let has_host = first.is_some_and(|it| it == "localhost" || it.contains(['.', ':']));
        match (has_host, first) {
            (true, _) => RegistryLocation::read(name),
            (false, Some(_)) => RegistryLocation::read(&format!("{HUB}/{name}")),
            (false, None) => RegistryLocation::read(&format!("{HUB}/library/{name}")),
        }
    }

    pub(crate) fn is_builtin(&self) -> bool {
        self.host == BUILTIN
    }
}

impl fmt::Display for RegistryLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_a_host_and_a_name() {
        check("127.0.0.1:5000/a/b", Some(("127.0.0.1:5000", "a/b")));
        check("[::1]:5000/a", Some(("[::1]:5000", "a")));
        check("colony.builtin/hello", Some(("colony.builtin", "hello")));
        for text in
            ["a", "a/", "/a", "h/../x", "h/a//b", "h/a?b", "h/a b", "u@h/a", "./a", "../a", "[]/a"]
        {
            check(text, None);
        }
    }

    #[test]
    fn images_without_a_host_are_on_docker_hub() {
        for (name, expected) in [
            ("busybox", "docker.io/library/busybox"),
            ("ann/web", "docker.io/ann/web"),
            ("localhost/web", "localhost/web"),
            ("hub:5000/web", "hub:5000/web"),
            ("r.example/a/b", "r.example/a/b"),
        ] {
            let place = RegistryLocation::of_image(name).map(|it| it.to_string());
            assert_eq!(place.as_deref(), Some(expected));
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = RegistryLocation::read(text);
        let found = found.as_ref().map(|it| (it.host.as_str(), it.name.as_str()));
        assert_eq!(found, expected, "{text}");
    }
}
