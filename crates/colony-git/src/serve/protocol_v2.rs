//! Protocol 2 without a process, for the requests that sites send after every
//! commit.
//!
//! Covers references, and fetches of a few commits. Every other request, and
//! every one that is not understood, is left to git: the answer is `None` then.

use gix::refs::TargetRef;
use gix::{ObjectId, Repository};

use super::line::{self, Line};
use super::small;
use crate::error::{Error, doing};

/// A command with its arguments.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub command: &'a [u8],
    pub arguments: Vec<&'a [u8]>,
}

impl Request<'_> {
    pub(super) fn is_fetch(&self) -> bool {
        self.command == b"command=fetch"
    }
}

/// The answer to a request; `None` if it is left to git.
pub(super) fn answer(repo: &Repository, request: &Request<'_>) -> Result<Option<Vec<u8>>, Error> {
    match request.command {
        b"command=ls-refs" => refs(repo, &request.arguments),
        b"command=fetch" => small::fetch(repo, &request.arguments),
        _ => Ok(None),
    }
}

/// Parses a request. The lines between the command and its arguments only
/// describe the client.
pub(super) fn parsed(body: &[u8]) -> Option<Request<'_>> {
    let lines = line::read(body)?;
    let Some((Line::Text(command), rest)) = lines.split_first() else { return None };
    let (Some(Line::Flush), middle) = (rest.last(), rest.get(..rest.len().checked_sub(1)?)?) else {
        return None;
    };
    let mut parts = middle.split(|it| *it == Line::Delimiter);
    let (capabilities, arguments) = (parts.next()?, parts.next().unwrap_or_default());
    let known = |it: &Line<'_>| {
        matches!(it, Line::Text(it) if it.starts_with(b"agent=")
            || *it == b"object-format=sha1" || it.starts_with(b"session-id="))
    };
    if parts.next().is_some() || !capabilities.iter().all(known) {
        return None;
    }
    let arguments = arguments.iter().map(|it| it.text()).collect::<Option<_>>()?;
    Some(Request { command, arguments })
}

#[derive(Debug, Default)]
struct Question<'a> {
    peel: bool,
    symrefs: bool,
    prefixes: Vec<&'a [u8]>,
}

fn refs(repo: &Repository, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, Error> {
    const DOING: &str = "list the references";
    let mut question = Question::default();
    for argument in arguments {
        match (*argument, argument.strip_prefix(b"ref-prefix ")) {
            (_, Some(prefix)) => question.prefixes.push(prefix),
            (b"peel", None) => question.peel = true,
            (b"symrefs", None) => question.symrefs = true,
            (_, None) => return Ok(None),
        }
    }
    let mut out = Vec::new();
    let head = repo.find_reference("HEAD").map_err(doing(DOING))?;
    listed(repo, &question, head, &mut out)?;
    let all = repo.references().map_err(doing(DOING))?;
    for reference in all.all().map_err(doing(DOING))? {
        let reference = reference.map_err(|it| Error::Corrupt { what: it.to_string() })?;
        listed(repo, &question, reference, &mut out)?;
    }
    line::flush(&mut out);
    Ok(Some(out))
}

fn listed(
    repo: &Repository,
    question: &Question<'_>,
    mut reference: gix::Reference<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let name = reference.name().as_bstr().to_string();
    let prefixes = &question.prefixes;
    if !prefixes.is_empty() && !prefixes.iter().any(|it| name.as_bytes().starts_with(it)) {
        return Ok(());
    }
    let target = match reference.target() {
        TargetRef::Symbolic(it) => Some(it.as_bstr().to_string()),
        TargetRef::Object(_) => None,
    };
    // A reference without an existing target is not listed.
    let Some(id) = resolved(&mut reference) else { return Ok(()) };
    let mut text = format!("{id} {name}");
    if let Some(target) = target.filter(|_| question.symrefs) {
        text.push_str(&format!(" symref-target:{target}"));
    }
    if let Some(peeled) = question.peel.then(|| peeled(repo, id)).transpose()?.flatten() {
        text.push_str(&format!(" peeled:{peeled}"));
    }
    line::text(out, &text);
    Ok(())
}

fn resolved(reference: &mut gix::Reference<'_>) -> Option<ObjectId> {
    match reference.try_id() {
        Some(id) => Some(id.detach()),
        None => reference.follow()?.ok()?.try_id().map(gix::Id::detach),
    }
}

/// The target of a tag.
fn peeled(repo: &Repository, id: ObjectId) -> Result<Option<ObjectId>, Error> {
    const DOING: &str = "read a tag";
    if repo.find_header(id).map_err(doing(DOING))?.kind() != gix::objs::Kind::Tag {
        return Ok(None);
    }
    let object = repo.find_object(id).and_then(|it| it.peel_tags_to_end());
    Ok(Some(object.map_err(doing(DOING))?.id))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::process::Stdio;

    use super::*;
    use crate::{Deployments, git, repo};

    #[test]
    fn references_are_listed_as_git_lists_them() {
        check("peel|symrefs|ref-prefix refs/heads/|ref-prefix refs/tags/|ref-prefix HEAD");
        check("peel|symrefs");
        check("");
        check("ref-prefix refs/heads/ma");
        check("ref-prefix nowhere");
        check("symrefs|ref-prefix HE");
    }

    #[test]
    fn what_is_not_understood_is_left_to_git() {
        let keep = tempfile::TempDir::new().expect("a folder");
        Deployments::hosted(keep.path()).expect("opens");
        let zeros = format!("have {}", "0".repeat(40));
        for body in [
            request("ls-refs", "unborn"),
            request("object-info", ""),
            request("fetch", "want x"),
            request("fetch", &zeros),
            request("fetch", "done"),
            b"0000".to_vec(),
            b"not git".to_vec(),
            Vec::new(),
        ] {
            let answer = answered(keep.path(), &body);
            assert_eq!(answer, None, "{}", String::from_utf8_lossy(&body));
        }
    }

    #[track_caller]
    fn check(arguments: &str) {
        let keep = tempfile::TempDir::new().expect("a folder");
        let dir = keep.path();
        Deployments::hosted(dir).expect("opens");
        let named = [("user.name", "Pat"), ("user.email", "pat@example.org")];
        for args in [&["tag", "-a", "-m", "one", "v1", "main"][..], &["branch", "other", "main"]] {
            let mut command = git::command(dir, &named);
            command.args(args);
            assert!(git::run(command, "prepare").expect("runs").status.success());
        }
        let body = request("ls-refs", arguments);
        let own = answered(dir, &body).expect("understood");
        assert_eq!(String::from_utf8_lossy(&own), by_git(dir, &body), "{arguments}");
    }

    fn answered(dir: &Path, body: &[u8]) -> Option<Vec<u8>> {
        let repo = repo::local(&repo::open(dir).expect("opens"));
        answer(&repo, &parsed(body)?).expect("no failure")
    }

    fn request(command: &str, arguments: &str) -> Vec<u8> {
        let mut body = Vec::new();
        line::text(&mut body, &format!("command={command}"));
        line::text(&mut body, "agent=test");
        line::delimiter(&mut body);
        arguments.split('|').filter(|it| !it.is_empty()).for_each(|it| line::text(&mut body, it));
        line::flush(&mut body);
        body
    }

    fn by_git(dir: &Path, body: &[u8]) -> String {
        let mut command = git::command(dir, &[("safe.directory", "*")]);
        command.args(["upload-pack", "--stateless-rpc"]).arg(dir).env("GIT_PROTOCOL", "version=2");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("git is there; else: apt-get install git");
        child.stdin.take().expect("a pipe").write_all(body).expect("written");
        let output = child.wait_with_output().expect("an answer");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
