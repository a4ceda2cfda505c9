//! Readers of `colony-git`: paths, addresses, and what clients of Git send.

mod wire;

use colony_git::serve::{self, Service};
use colony_git::{Auth, Remote, Secret, fuzz};

use crate::Shape::{Bytes, Text};
use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target::new("git_path", Text, PATH, path),
    Target::new("git_remote", Text, REMOTE, remote),
    Target::new("git_protocol", Text, PROTOCOL, protocol),
    Target::new("git_lines", Bytes, LINES, wire::lines),
    Target::new("git_request", Bytes, LINES, wire::request),
    Target::new("git_gunzip", Bytes, &["\u{1f}\u{8b}", "\0"], gunzip),
];

const PATH: &[&str] = &[
    "deployments/",
    "sites/",
    ".git",
    ".GIT",
    "git~1",
    "..",
    ".",
    "//",
    "\\",
    "\0",
    ".yaml",
    "\u{200c}",
    ".g\u{200c}it",
    "refs/heads/",
    "@{",
    ".lock",
    "-",
    " ",
    "\u{7f}",
];
const REMOTE: &[&str] = &[
    "https://",
    "http://",
    "ssh://",
    "file://",
    "ext::",
    "::",
    "@",
    ":",
    "hunter2secret",
    "--upload-pack=",
    "-",
    "git@h:",
];
const PROTOCOL: &[&str] = &["version=2", "version=1", ":", "=", "\n", "GIT_", "\0"];
const LINES: &[&str] = &[
    "0000",
    "0001",
    "0002",
    "0004",
    "0005\n",
    "fff0",
    "ffff",
    "+00b",
    "0014command=ls-refs\n",
    "0012command=fetch\n",
    "0010agent=git/2\n",
    "0017object-format=sha1\n",
    "0009peel\n",
    "000csymrefs\n",
    "001bref-prefix refs/heads/\n",
    "0032want aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    "0032have bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n",
    "000ethin-pack\n",
    "000eofs-delta\n",
    "0009done\n",
    "000ddeepen 1\n",
];

fn path(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let branch = fuzz::branch(&text);
    if let Ok(name) = &branch {
        assert_eq!(*name, format!("refs/heads/{text}"));
        assert!(!text.starts_with('-') && !text.contains(".."), "{text:?} is more than a branch");
        assert!(!text.chars().any(|it| it.is_control() || " ~^:?*[\\".contains(it)), "{text:?}");
    }
    match fuzz::path(&text) {
        Err(error) => Outcome::refused(format!("{} {error}", branch.is_ok())),
        Ok(()) => {
            let inside = std::path::Path::new("/base").join(text.as_ref());
            let parts = inside.components().skip(2);
            let normal =
                |it: std::path::Component<'_>| matches!(it, std::path::Component::Normal(_));
            assert!(inside.starts_with("/base") && parts.clone().all(normal), "{text:?} leads out");
            assert_eq!(parts.count(), text.split('/').count());
            Outcome::taken(branch.is_ok())
        }
    }
}

/// No secret of an address is ever printed.
fn remote(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input).into_owned();
    let secret = password(&text).map(str::to_owned);
    let remote = Remote { url: text.clone(), auth: Auth::None };
    let shown = format!("{remote:?}");
    let outcome = match fuzz::address(&remote) {
        Err(error) => {
            let told = error.to_string();
            quiet(&told, secret.as_deref());
            assert!(!told.contains(char::is_control), "{told:?} breaks its line");
            Outcome::refused(told)
        }
        Ok((url, header)) => {
            quiet(&url, secret.as_deref());
            assert!(!url.starts_with('-') && !url.chars().any(char::is_control), "{url:?}");
            Outcome::taken(format!("{} {}", header.is_some(), url.split("://").count()))
        }
    };
    quiet(&shown, secret.as_deref());
    let token = Remote { url: text, auth: Auth::Token(Secret::new("s3cr3t-t0ken")) };
    quiet(&format!("{token:?}"), Some("s3cr3t-t0ken"));
    outcome
}

/// The password of a URL with one, if it is long enough not to be there by chance.
fn password(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let login = rest[..rest.find('/').unwrap_or(rest.len())].rsplit_once('@')?.0;
    let (user, password) = login.split_once(':')?;
    let start = &password[..floor(password, 8)];
    let hidden = !user.contains(start) && !rest[login.len()..].contains(start);
    (matches!(scheme, "http" | "https") && password.len() >= 8 && hidden).then_some(password)
}

fn quiet(text: &str, secret: Option<&str>) {
    let told = secret.is_some_and(|it| text.contains(it) || text.contains(&it[..floor(it, 8)]));
    assert!(!told, "{text:?} tells {secret:?}");
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0)
}

fn protocol(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let clean = fuzz::protocol(&text);
    if let Some(clean) = clean {
        assert!(clean.is_ascii() && !clean.contains(['\n', '\0', ' ', ';']), "{clean:?}");
    }
    for service in [Service::UploadPack, Service::ReceivePack] {
        packets(&fuzz::preamble(service, clean));
    }
    packets(&fuzz::capabilities());
    Outcome::taken(format!("{} {}", clean.is_some(), Service::named(&text).is_some()))
}

/// Every packet has the length it says.
fn packets(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let length = std::str::from_utf8(&bytes[..4]).expect("four digits");
        let length = usize::from_str_radix(length, 16).expect("hexadecimal");
        assert!(length <= 1 || length > 4, "a packet of {length} bytes");
        bytes = &bytes[length.max(4)..];
    }
}

fn gunzip(input: &[u8]) -> Outcome {
    const LIMIT: usize = 64 << 10;
    match serve::gunzip(input, LIMIT) {
        Err(error) => Outcome::refused(error),
        Ok(bytes) => {
            assert!(bytes.len() <= LIMIT);
            Outcome::taken(bytes.is_empty())
        }
    }
}
