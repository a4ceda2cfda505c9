//! What clients of Git send: lines with their length, and requests of protocol 2
//! to a repository.

use colony_git::fuzz::{self, Packet};
use colony_git::{Batch, Deployments, Edit};
use tempfile::TempDir;

use crate::Outcome;

/// What stands in an input for the ids of the repository's last two commits.
const HEAD: [u8; 40] = [b'a'; 40];
const BASE: [u8; 40] = [b'b'; 40];

pub(super) fn lines(input: &[u8]) -> Outcome {
    let Some(packets) = fuzz::lines(input) else { return Outcome::refused("no lines") };
    assert_eq!(packets.len(), counted(input), "another number of lines");
    let written = written(&packets);
    assert_eq!(fuzz::lines(&written).as_ref(), Some(&packets), "written again it differs");
    let kinds: String = packets.iter().take(8).map(|it| it.0).collect();
    Outcome::taken(format!("{kinds} {}", fuzz::request(input).is_some()))
}

/// As the documents of Git say: four hexadecimal digits, no sign, no blank.
fn counted(mut body: &[u8]) -> usize {
    let mut count = 0;
    while !body.is_empty() {
        assert!(body[..4].iter().all(u8::is_ascii_hexdigit), "{:?} is not a length", &body[..4]);
        let digits = String::from_utf8_lossy(&body[..4]);
        let length = usize::from_str_radix(&digits, 16).expect("four digits");
        assert!(matches!(length, 0 | 1 | 5..=65_520), "a line of {length} bytes");
        body = &body[length.max(4)..];
        count += 1;
    }
    count
}

fn written(packets: &[Packet<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, text) in packets {
        let feed: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"\n" } else { b"" };
        match kind {
            '-' => out.extend(b"0001"),
            '.' => out.extend(b"0000"),
            _ => {
                out.extend(format!("{:04x}", text.len() + feed.len() + 4).bytes());
                out.extend([text, feed].concat());
            }
        }
    }
    out
}

/// A good repository answers whatever is asked, or leaves it to git.
pub(super) fn request(input: &[u8]) -> Outcome {
    REPOSITORY.with(|repository| {
        let mut body = input.to_vec();
        replace(&mut body, &HEAD, repository.head.as_bytes());
        replace(&mut body, &BASE, repository.base.as_bytes());
        let asked = fuzz::request(&body);
        let answer = fuzz::answer(repository.dir.path(), &body);
        let answer = answer.unwrap_or_else(|it| panic!("the repository broke: {it}"));
        let Some((command, arguments)) = asked else {
            assert!(answer.is_none(), "an answer to no question");
            return Outcome::refused("no request");
        };
        let command = String::from_utf8_lossy(command).into_owned();
        if let Some(answer) = &answer {
            good(&command, &arguments, answer);
        }
        Outcome::taken(format!(
            "{command} {} {}",
            answer.is_some(),
            "x".repeat(arguments.len().min(5))
        ))
    })
}

fn good(command: &str, arguments: &[&[u8]], answer: &[u8]) {
    super::packets(answer);
    assert!(answer.ends_with(b"0000"), "an answer without an end");
    match command {
        "command=ls-refs" => listed(arguments, answer),
        "command=fetch" => {
            assert!(answer.windows(13).any(|it| it == b"000dpackfile\n"), "no pack");
        }
        other => panic!("{other:?} is answered"),
    }
}

/// Each reference is one that was asked for.
fn listed(arguments: &[&[u8]], answer: &[u8]) {
    let prefixes: Vec<&[u8]> =
        arguments.iter().filter_map(|it| it.strip_prefix(b"ref-prefix ")).collect();
    for (kind, text) in fuzz::lines(answer).expect("lines") {
        if kind != 't' {
            continue;
        }
        let (id, name) = text.split_at(40);
        assert!(id.iter().all(u8::is_ascii_hexdigit), "{text:?} has no id");
        let name = name.strip_prefix(b" ").expect("a name");
        assert!(prefixes.is_empty() || prefixes.iter().any(|it| name.starts_with(it)), "{name:?}");
    }
}

fn replace(body: &mut [u8], from: &[u8; 40], to: &[u8]) {
    let mut at = 0;
    while let Some(found) = body[at..].windows(40).position(|it| it == from) {
        body[at + found..at + found + 40].copy_from_slice(to);
        at += found + 40;
    }
}

thread_local! {
    static REPOSITORY: Repository = Repository::new();
}

/// Two commits behind the first one, the last of which a site may lack.
struct Repository {
    dir: TempDir,
    base: String,
    head: String,
}

impl Repository {
    fn new() -> Repository {
        let dir = tempfile::tempdir().expect("a folder");
        let all = Deployments::hosted(dir.path()).expect("a repository");
        let (base, head) = (commit(&all, "one"), commit(&all, "two"));
        Repository { dir, base, head }
    }
}

fn commit(all: &Deployments, name: &str) -> String {
    let path = format!("deployments/{name}.yaml");
    let edits =
        vec![Edit { path, expected: None, text: Some(format!("name: {name}\n")), only_with: None }];
    let (message, author) = (name.to_owned(), "fuzz".to_owned());
    let batch = Batch { message, trailers: Vec::new(), author, at_unix: 1_794_225_600, edits };
    let written = all.write(&batch).expect("written");
    written.revision.expect("a commit").to_string()
}
