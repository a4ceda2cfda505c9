//! A location: a registry's host and a name there.

use std::fmt;

use crate::oci::source::BUILTIN;

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

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = RegistryLocation::read(text);
        let found = found.as_ref().map(|it| (it.host.as_str(), it.name.as_str()));
        assert_eq!(found, expected, "{text}");
    }
}
