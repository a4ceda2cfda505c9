//! Commit objects: author, time, and a message for people.

use gix::actor::Signature;
use gix::date::Time;
use gix::{ObjectId, Repository};

use super::Batch;
use crate::error::{Error, doing};

const LIMIT: usize = 64 * 1024;
const VALUE_LIMIT: usize = 1024;

/// Writes the commit object of a batch.
pub(super) fn commit(
    repo: &Repository,
    batch: &Batch,
    tree: ObjectId,
    parent: Option<ObjectId>,
) -> Result<ObjectId, Error> {
    let time = Time::new(batch.at_unix, 0);
    let author = signature(&batch.author, time);
    let committer = signature("colony", time);
    object(repo, &author, &committer, &text(batch), tree, parent)
}

/// The empty commit a hosted repository begins with; its id is the same in
/// every fleet.
pub(super) fn first_commit(repo: &Repository) -> Result<ObjectId, Error> {
    let colony = signature("colony", Time::new(0, 0));
    let tree = repo.write_object(gix::objs::Tree::empty()).map_err(doing("write the tree"))?;
    object(repo, &colony, &colony, "An empty deployments repository\n", tree.detach(), None)
}

fn object(
    repo: &Repository,
    author: &Signature,
    committer: &Signature,
    text: &str,
    tree: ObjectId,
    parent: Option<ObjectId>,
) -> Result<ObjectId, Error> {
    let commit = gix::objs::Commit {
        message: text.into(),
        tree,
        author: author.clone(),
        committer: committer.clone(),
        encoding: None,
        parents: parent.into_iter().collect(),
        extra_headers: Vec::new(),
    };
    Ok(repo.write_object(commit).map_err(doing("write the commit"))?.detach())
}

/// `Name <mail>`, or a name that gets an address at `colony`.
fn signature(author: &str, time: Time) -> Signature {
    let (name, mail) = match author.split_once('<') {
        Some((name, rest)) => (clean(name), clean(rest)),
        None => (clean(author), String::new()),
    };
    let name = if name.is_empty() { "colony".to_owned() } else { name };
    let mail = if mail.is_empty() { format!("{}@colony", name.replace(' ', ".")) } else { mail };
    Signature { name: name.into(), email: mail.into(), time }
}

/// Removes characters that would end the name or the header line.
fn clean(text: &str) -> String {
    let kept = text.chars().filter(|it| !it.is_control() && !matches!(it, '<' | '>'));
    kept.take(200).collect::<String>().trim().to_owned()
}

fn text(batch: &Batch) -> String {
    let message: String =
        batch.message.chars().filter(|it| *it == '\n' || !it.is_control()).take(LIMIT).collect();
    let message = match message.trim() {
        "" => "Change the deployments",
        some => some,
    };
    let mut text = format!("{message}\n");
    let trailers: Vec<String> = batch.trailers.iter().filter_map(trailer).collect();
    if !trailers.is_empty() {
        text.push('\n');
    }
    text.extend(trailers);
    text
}

fn trailer((key, value): &(String, String)) -> Option<String> {
    let valid = !key.is_empty() && key.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let value: String = value.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let value: String = value.trim().chars().take(VALUE_LIMIT).collect();
    (valid && key.len() <= 64).then(|| format!("{key}: {value}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_in_trailers() {
        check(
            "deploy hello 1.1\n\nto two sites",
            &[("Colony-Deployment", "hello"), ("Colony-Actor", "alice")],
            "deploy hello 1.1\n\nto two sites\n\nColony-Deployment: hello\nColony-Actor: alice\n",
        );
        check("x", &[], "x\n");
    }

    #[test]
    fn nothing_slips_a_line_into_the_trailers() {
        check(
            "x",
            &[("Colony-Actor", "eve\nColony-Actor: root")],
            "x\n\nColony-Actor: eve Colony-Actor: root\n",
        );
        check("x", &[("A b", "c")], "x\n");
        check("\0 \n", &[], "Change the deployments\n");
    }

    #[test]
    fn authors_stay_in_their_line() {
        let of = |it| {
            let it = signature(it, Time::new(0, 0));
            format!("{} <{}>", it.name, it.email)
        };
        assert_eq!(of("alice"), "alice <alice@colony>");
        assert_eq!(of("Al Ice <al@ice.org>"), "Al Ice <al@ice.org>");
        assert_eq!(of("e\nvil> <x"), "evil <x>");
        assert_eq!(of(""), "colony <colony@colony>");
    }

    #[track_caller]
    fn check(message: &str, trailers: &[(&str, &str)], expected: &str) {
        let trailers =
            trailers.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let (author, at_unix, edits) = ("a".to_owned(), 0, Vec::new());
        let batch = Batch { message: message.to_owned(), trailers, author, at_unix, edits };
        assert_eq!(text(&batch), expected);
    }
}
