//! The file that `docker login` and `podman login` write, read without any
//! other access: `auths`, and what else it says about credentials.
//!
//! An entry that cannot be used does not affect the others. No message contains
//! a value of the file except registries and names of helpers.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::scope::Scope;
use crate::config::Credential;
use crate::oci::registry::RegistryLocation;

/// The largest file that is read.
pub(super) const SIZE_LIMIT: usize = 1 << 20;
/// The most entries of `auths`, and of `credHelpers`.
const ENTRY_LIMIT: usize = 1000;
/// The longest user, password or token.
const VALUE_LIMIT: usize = 16 << 10;
/// How much of a helper's name is shown.
const SHOWN: usize = 60;

/// Some programs leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The credentials of one file.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// A registry or a prefix, and its credential or why there is none.
    entries: BTreeMap<Scope, Result<Credential, String>>,
    /// The helper that keeps the credentials of all other registries.
    helper: Option<String>,
    /// What cannot be used, each with its field.
    pub(super) findings: Vec<String>,
}

/// What a document says about a repository.
#[derive(Debug)]
pub(super) enum Match<'a> {
    Credential(&'a Scope, &'a Credential),
    /// An entry that cannot be used, or none; and why, if that is known.
    None(Option<String>),
}

impl Document {
    pub(super) fn parse(bytes: &[u8]) -> Result<Document, String> {
        if bytes.len() > SIZE_LIMIT {
            return Err(format!("has more than {SIZE_LIMIT} bytes"));
        }
        // Any JSON is read first: an error of its syntax quotes no value.
        let root: Value = serde_json::from_slice(bytes)
            .map_err(|it| format!("is not JSON: line {}, column {}", it.line(), it.column()))?;
        let root = root.as_object().ok_or("is not a JSON object")?;
        let mut document = Document::default();
        document.read_auths(object(root, "auths")?)?;
        document.read_helpers(object(root, "credHelpers")?)?;
        document.read_store(root.get("credsStore"));
        Ok(document)
    }

    /// Whether it holds anything secret.
    pub(super) fn has_credentials(&self) -> bool {
        self.entries.values().any(Result::is_ok)
    }

    /// The entry for a repository: the longest prefix wins.
    pub(super) fn find(&self, place: &RegistryLocation) -> Match<'_> {
        let ranked = self.entries.iter().filter_map(|it| Some((it.0.rank(place)?, it)));
        match ranked.max_by_key(|it| it.0) {
            Some((_, (scope, Ok(credential)))) => Match::Credential(scope, credential),
            Some((_, (_, Err(why)))) => Match::None(Some(why.clone())),
            None => Match::None(self.helper.as_deref().map(kept_by)),
        }
    }

    fn read_auths(&mut self, auths: Option<&Map<String, Value>>) -> Result<(), String> {
        let mut all: Vec<(usize, &String, &Value)> =
            auths.into_iter().flatten().enumerate().map(|(at, it)| (at, it.0, it.1)).collect();
        check_count("auths", all.len())?;
        // Of two keys for one registry, the one that is not a URL wins.
        all.sort_by_key(|it| !it.1.contains("://"));
        for (at, key, entry) in all {
            let Some(scope) = Scope::read(key) else {
                self.findings.push(unnamed("auths", at));
                continue;
            };
            // `docker login` with a helper leaves entries without content.
            if is_empty(entry) {
                continue;
            }
            let read = credential(entry).map_err(|it| format!("`auths.\"{scope}\"{it}"));
            self.findings.extend(read.as_ref().err().cloned());
            self.entries.insert(scope, read);
        }
        Ok(())
    }

    fn read_helpers(&mut self, helpers: Option<&Map<String, Value>>) -> Result<(), String> {
        check_count("credHelpers", helpers.map_or(0, Map::len))?;
        for (at, (key, name)) in helpers.into_iter().flatten().enumerate() {
            let Some(scope) = Scope::read(key) else {
                self.findings.push(unnamed("credHelpers", at));
                continue;
            };
            if self.entries.contains_key(&scope) {
                continue;
            }
            let why = kept_by(&shown(name));
            self.findings.push(format!("`credHelpers.\"{scope}\"`: {why}"));
            self.entries.insert(scope, Err(why));
        }
        Ok(())
    }

    fn read_store(&mut self, store: Option<&Value>) {
        let Some(name) = store.filter(|it| !is_empty(it)).map(shown) else { return };
        self.findings.push(format!("`credsStore`: {}", kept_by(&name)));
        self.helper = Some(name);
    }
}

/// A key may hold a password, so it is not shown.
fn unnamed(field: &str, at: usize) -> String {
    format!("the key of entry {} of `{field}` names no registry", at + 1)
}

fn kept_by(helper: &str) -> String {
    format!("the credential helper `{helper}` is not supported, only credentials in `auths` are")
}

/// The credential of one entry, or the rest of a sentence that begins with its
/// field.
fn credential(entry: &Value) -> Result<Credential, String> {
    let entry = entry.as_object().ok_or("` is not an object")?;
    let text = |field: &str| match entry.get(field) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) if text.len() > VALUE_LIMIT => {
            Err(format!(".{field}` has more than {VALUE_LIMIT} bytes"))
        }
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(format!(".{field}` is not a string")),
    };
    let (auth, token) = (text("auth")?, text("identitytoken")?);
    if !token.is_empty() {
        return Ok(Credential::IdentityToken(token.to_owned()));
    }
    if !auth.is_empty() {
        return decoded(auth).map_err(|it| format!(".auth` {it}"));
    }
    let (user, password) = (text("username")?, text("password")?);
    if user.contains(':') {
        return Err(".username` contains a colon".to_owned());
    }
    if user.is_empty() && password.is_empty() {
        return Err("` has neither `auth` nor `identitytoken`".to_owned());
    }
    Ok(Credential::Password { user: user.to_owned(), password: password.to_owned() })
}

fn decoded(auth: &str) -> Result<Credential, &'static str> {
    let bytes = BASE64.decode(auth.trim()).map_err(|_| "is not base64")?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 in base64")?;
    let (user, password) = text.split_once(':').ok_or("is not `user:password` in base64")?;
    // Old versions of Docker pad the password.
    let password = password.trim_end_matches('\0').to_owned();
    Ok(Credential::Password { user: user.to_owned(), password })
}

fn object<'a>(
    root: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a Map<String, Value>>, String> {
    match root.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => Err(format!("has a `{field}` that is not an object")),
    }
}

fn check_count(field: &str, count: usize) -> Result<(), String> {
    match count > ENTRY_LIMIT {
        true => Err(format!("has {count} entries in `{field}`, at most {ENTRY_LIMIT} are read")),
        false => Ok(()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// The name of a helper, which is a part of a program's name.
fn shown(name: &Value) -> String {
    let name = name.as_str().unwrap_or("?").replace(|it: char| !it.is_ascii_graphic(), "?");
    name.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_are_read_in_every_form() {
        let auths = json!({ "auths": {
            "a.example": { "auth": "YW5uOnM6M2NyM3Q=" },
            "b.example": { "auth": "YW5uOnM6M2NyM3Q" },
            "c.example": { "username": "ann", "password": "s:3cr3t" },
            "d.example": { "auth": "YW5uOg==", "identitytoken": "t0k3n" },
            "e.example": { "auth": "YW5uOnM6M2NyM3QAAA==", "email": "a@a.example" },
        }, "psFormat": "table" });
        for host in ["a.example", "b.example", "c.example", "e.example"] {
            check(&auths, &format!("{host}/x"), "ann s:3cr3t");
        }
        check(&auths, "d.example/x", "token t0k3n");
        check(&auths, "f.example/x", "none");
        assert_eq!(findings(&auths), Vec::<String>::new());
    }

    #[test]
    fn longest_prefix_wins() {
        let entry = |user: &str| json!({ "username": user, "password": "p" });
        let auths = json!({ "auths": {
            "r.example": entry("all"), "r.example/a": entry("a"), "r.example/a/b": entry("ab"),
        } });
        check(&auths, "r.example/a/b", "ab p");
        check(&auths, "r.example/a/c", "a p");
        check(&auths, "r.example/ab", "all p");
        let both = json!({ "auths": {
            "https://r.example": entry("url"), "r.example": entry("host"),
            "https://index.docker.io/v1/": entry("hub"),
        } });
        check(&both, "r.example/a", "host p");
        check(&both, "docker.io/library/busybox", "hub p");
    }

    #[test]
    fn broken_entry_is_named_and_affects_no_other() {
        let good = "YW5uOnM6M2NyM3Q=";
        for (entry, expected) in [
            (json!({ "auth": "%" }), "`auths.\"r.example\".auth` is not base64"),
            (
                json!({ "auth": "YW5u" }),
                "`auths.\"r.example\".auth` is not `user:password` in base64",
            ),
            (json!({ "auth": "/w==" }), "`auths.\"r.example\".auth` is not UTF-8 in base64"),
            (json!({ "auth": 7 }), "`auths.\"r.example\".auth` is not a string"),
            (json!("x"), "`auths.\"r.example\"` is not an object"),
            (
                json!({ "username": "a:b", "password": "c" }),
                "`auths.\"r.example\".username` contains a colon",
            ),
            (
                json!({ "auth": "x".repeat(20_000) }),
                "`auths.\"r.example\".auth` has more than 16384 bytes",
            ),
        ] {
            let auths = json!({ "auths": { "r.example": entry, "s.example": { "auth": good } } });
            check(&auths, "r.example/x", expected);
            check(&auths, "s.example/x", "ann s:3cr3t");
            assert_eq!(findings(&auths), [expected]);
        }
        let unnamed = json!({ "auths": { "ann:s3cr3t@r.example": { "auth": good } } });
        assert_eq!(findings(&unnamed), ["the key of entry 1 of `auths` names no registry"]);
    }

    #[test]
    fn helpers_are_named_as_unsupported() {
        let kept = |it: &str| kept_by(it);
        let auths = json!({
            "auths": { "a.example": {}, "b.example": { "auth": "YW5uOnM6M2NyM3Q=" } },
            "credHelpers": { "c.example": "ecr-login", "b.example": "other" },
            "credsStore": "desktop",
        });
        check(&auths, "a.example/x", &kept("desktop"));
        check(&auths, "b.example/x", "ann s:3cr3t");
        check(&auths, "d.example/x", &kept("desktop"));
        let expected = [
            format!("`credHelpers.\"c.example\"`: {}", kept("ecr-login")),
            format!("`credsStore`: {}", kept("desktop")),
        ];
        assert_eq!(findings(&auths), expected);
    }

    #[test]
    fn file_that_is_none_is_refused_with_its_position() {
        refused(b"{ \"auths\": {\n  \"s3cr3t\" } }", "is not JSON: line 2, column 12");
        refused(b"", "is not JSON: line 1, column 0");
        refused(b"\"s3cr3t\"", "is not a JSON object");
        refused(b"{\"auths\": \"s3cr3t\"}", "has a `auths` that is not an object");
        refused(&vec![b' '; SIZE_LIMIT + 1], "has more than 1048576 bytes");
        let many: Map<String, Value> =
            (0..=ENTRY_LIMIT).map(|it| (format!("r{it}.example"), json!({}))).collect();
        let many = json!({ "auths": many }).to_string();
        refused(many.as_bytes(), "has 1001 entries in `auths`, at most 1000 are read");
    }

    proptest! {
        #[test]
        fn no_message_holds_a_secret(prefix in ".{0,20}", field in "auth|password|identitytoken", cut in 0usize..200) {
            let secret = format!("{prefix}s3cr3t");
            let text = json!({ "auths": { "r.example": { (field): secret } } }).to_string();
            let cut = text.len().min(cut);
            for bytes in [text.as_bytes(), &text.as_bytes()[..cut]] {
                let shown = format!("{:?}", Document::parse(bytes));
                prop_assert!(!shown.contains("s3cr3t"), "{}", shown);
            }
        }
    }

    #[track_caller]
    fn check(document: &Value, place: &str, expected: &str) {
        let document = Document::parse(document.to_string().as_bytes()).expect("it is read");
        let place = RegistryLocation::read(place).expect("a place");
        let found = match document.find(&place) {
            Match::Credential(_, Credential::Password { user, password }) => {
                format!("{user} {password}")
            }
            Match::Credential(_, Credential::IdentityToken(token)) => format!("token {token}"),
            Match::None(why) => why.unwrap_or("none".to_owned()),
        };
        assert_eq!(found, expected, "{place}");
    }

    fn findings(document: &Value) -> Vec<String> {
        Document::parse(document.to_string().as_bytes()).expect("it is read").findings
    }

    #[track_caller]
    fn refused(bytes: &[u8], expected: &str) {
        assert_eq!(Document::parse(bytes).expect_err("it is refused"), expected);
    }
}
