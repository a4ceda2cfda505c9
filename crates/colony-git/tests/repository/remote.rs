//! A repository of another owner: pushed to, raced for, lost, refused, rewritten.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use colony_git::{Deployments, Error, Remote};
use tempfile::TempDir;

use crate::kit::{Person, at, bare, batch, edit, git, put, written_text};

const HELLO: &str = "deployments/home/hello.yaml";

#[test]
fn an_empty_repository_gets_its_first_commit_by_the_first_write() {
    let world = World::empty();
    let repo = world.open("a");
    assert_eq!(repo.refresh().expect("reachable"), None);
    assert_eq!(
        written_text(&put(&repo, HELLO, "a: 1\n")),
        format!("commit done[{HELLO}] conflicts[]")
    );
    assert_eq!(world.count(), "1");
    assert_eq!(world.text(HELLO), "a: 1");
}

#[test]
fn file_addresses_work_like_paths() {
    let world = World::empty();
    let url = format!("file://{}", world.upstream.display());
    let repo = Deployments::remote(&world.dir("a"), at(url), "main").expect("opens");
    put(&repo, HELLO, "a: 1\n");
    assert_eq!(world.text(HELLO), "a: 1");
}

#[test]
fn what_others_pushed_stays() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    world.person().put("deployments/home/other.yaml", "x\n").commit("by hand").push();
    assert_eq!(
        written_text(&put(&repo, HELLO, "a: 2\n")),
        format!("commit done[{HELLO}] conflicts[]")
    );
    assert_eq!(world.count(), "3");
    assert_eq!(
        (world.text(HELLO), world.text("deployments/home/other.yaml")),
        ("a: 2".into(), "x".into())
    );
}

#[test]
fn a_file_others_changed_is_a_conflict_with_its_diff() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    let seen = repo.blob_at(HELLO).expect("readable");
    world.person().put(HELLO, "a: 9\n").commit("by hand").push();
    let written = repo.write(&batch(vec![edit(HELLO, seen.as_ref(), Some("a: 2\n"))]));
    let written = written.expect("answered");
    assert_eq!(written_text(&written), format!("nothing done[] conflicts[{HELLO}]"));
    assert!(written.conflicts[0].diff.ends_with("-a: 9\n+a: 2\n"), "{written:?}");
    assert_eq!(world.text(HELLO), "a: 9");
}

#[test]
fn a_conflict_that_others_have_resolved_is_none() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    let person = world.person();
    person.put(HELLO, "a: 2\n").commit("by hand").push();
    let second = world.open("b");
    second.refresh().expect("reachable");
    let moved = second.blob_at(HELLO).expect("readable");
    // The copy of `repo` still holds `a: 1`; only a look at the remote can tell.
    let written = repo.write(&batch(vec![edit(HELLO, moved.as_ref(), Some("a: 3\n"))]));
    assert_eq!(
        written_text(&written.expect("answered")),
        format!("commit done[{HELLO}] conflicts[]")
    );
}

#[test]
fn racing_writers_lose_no_write() {
    let world = World::with("0");
    let wins = std::thread::scope(|scope| {
        let writers: Vec<_> = ["a", "b", "c"].map(|name| scope.spawn(|| world.race(name))).into();
        writers.into_iter().map(|it| it.join().expect("no panic")).sum::<usize>()
    });
    assert_eq!(number_of(&world.text(HELLO)), wins, "every win counted one up");
    let repo = world.open("d");
    repo.refresh().expect("reachable");
    assert_eq!(repo.list("own").expect("readable").len(), 18);
    git(&world.upstream, &["fsck", "--strict"]);
}

#[test]
fn a_writer_that_died_after_its_push_finds_its_work_done() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    let change =
        batch(vec![edit(HELLO, repo.blob_at(HELLO).expect("readable").as_ref(), Some("a: 2\n"))]);
    let first = repo.write(&change).expect("written");
    drop(repo);
    for copy in ["a", "fresh"] {
        let again = world.open(copy).write(&change).expect("answered");
        assert_eq!(written_text(&again), format!("nothing done[{HELLO}] conflicts[]"));
        assert_eq!((&again.head, &again.done), (&first.revision, &first.done));
    }
    assert_eq!(world.count(), "2");
}

#[test]
fn a_commit_that_could_not_be_pushed_is_pushed_later() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    let away = world.upstream.with_extension("away");
    std::fs::rename(&world.upstream, &away).expect("moved");
    let change =
        batch(vec![edit(HELLO, repo.blob_at(HELLO).expect("readable").as_ref(), Some("a: 2\n"))]);
    let error = repo.write(&change).expect_err("no server there");
    assert!(matches!(error, Error::Remote { .. }) && error.is_transient(), "{error:?}");
    drop(repo);
    std::fs::rename(&away, &world.upstream).expect("moved");
    let written = world.open("a").write(&change).expect("written");
    assert_eq!(written_text(&written), format!("commit done[{HELLO}] conflicts[]"));
    assert_eq!(world.count(), "2");
}

#[test]
fn a_server_that_says_no_is_quoted() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    world.hook("pre-receive", "echo 'only on Mondays' >&2; exit 1");
    let change = batch(vec![edit("x", None, Some("y\n"))]);
    let error = repo.write(&change).expect_err("refused");
    assert!(matches!(error, Error::Rejected { .. }) && !error.is_transient(), "{error:?}");
    assert!(error.is_about_content(), "{error:?}");
    assert!(error.to_string().contains("only on Mondays"), "{error}");
}

#[test]
fn a_rewritten_branch_is_followed_and_still_not_overwritten() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    let seen = repo.blob_at(HELLO).expect("readable");
    let person = world.person();
    person.put(HELLO, "a: 7\n");
    git(&person.dir, &["commit", "-q", "-a", "--amend", "-m", "other"]);
    git(&person.dir, &["push", "-q", "--force", "origin", "main"]);
    let edits = vec![edit(HELLO, seen.as_ref(), Some("a: 2\n")), edit("x", None, Some("y\n"))];
    let written = repo.write(&batch(edits)).expect("answered");
    assert_eq!(written_text(&written), format!("commit done[x] conflicts[{HELLO}]"));
    assert_eq!((world.count(), world.text(HELLO)), ("2".into(), "a: 7".into()));
}

#[test]
fn a_damaged_copy_is_fetched_anew() {
    let world = World::with("a: 1\n");
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    damage(&world.dir("a"));
    drop(repo);
    let repo = world.open("a");
    repo.refresh().expect("reachable");
    let text = repo.blob_at(HELLO).expect("readable").expect("a blob");
    assert_eq!(repo.text(&text).expect("readable").as_deref(), Some("a: 1\n"));
    put(&repo, HELLO, "a: 2\n");
    assert_eq!(world.text(HELLO), "a: 2");
}

#[test]
fn other_branches_are_left_alone() {
    let world = World::with("a: 1\n");
    let repo = Deployments::remote(&world.dir("a"), world.remote(), "fleet/prod").expect("opens");
    put(&repo, HELLO, "b: 1\n");
    assert_eq!(git(&world.upstream, &["show", &format!("fleet/prod:{HELLO}")]), "b: 1");
    assert_eq!(world.text(HELLO), "a: 1");
}

/// Empties what was fetched, as a power cut does.
pub(crate) fn damage(copy: &Path) {
    let pack = copy.join("objects/pack");
    for entry in std::fs::read_dir(pack).expect("a folder") {
        let path = entry.expect("an entry").path();
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "").expect("emptied");
    }
}

pub(crate) struct World {
    pub(crate) upstream: PathBuf,
    keep: TempDir,
}

impl World {
    pub(crate) fn empty() -> World {
        let keep = TempDir::new().expect("a folder");
        World { upstream: bare(keep.path()), keep }
    }

    pub(crate) fn with(text: &str) -> World {
        let world = World::empty();
        world.person().put(HELLO, text).commit("first").push();
        world
    }

    pub(crate) fn person(&self) -> Person {
        Person::of(self.upstream.to_str().expect("UTF-8"))
    }

    pub(crate) fn dir(&self, copy: &str) -> PathBuf {
        self.keep.path().join(copy)
    }

    pub(crate) fn remote(&self) -> Remote {
        at(&self.upstream)
    }

    fn open(&self, copy: &str) -> Deployments {
        Deployments::remote(&self.dir(copy), self.remote(), "main").expect("opens")
    }

    fn count(&self) -> String {
        git(&self.upstream, &["rev-list", "--count", "main"])
    }

    fn text(&self, path: &str) -> String {
        git(&self.upstream, &["show", &format!("main:{path}")])
    }

    fn hook(&self, name: &str, text: &str) {
        let path = self.upstream.join("hooks").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a hook");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a hook");
    }

    /// Writes own files, and counts a shared one up; returns how often that worked.
    fn race(&self, name: &str) -> usize {
        let repo = self.open(name);
        let mut wins = 0;
        for number in 0..6 {
            repo.refresh().expect("reachable");
            let blob = repo.blob_at(HELLO).expect("readable").expect("there");
            let text = repo.text(&blob).expect("readable").expect("there");
            let count = number_of(&text) + 1;
            // Equal texts of two writers would both be done: each signs its own.
            let edits = vec![
                edit(HELLO, Some(&blob), Some(&format!("{count} {name}-{number}"))),
                edit(&format!("own/{name}-{number}"), None, Some("x\n")),
            ];
            let written = repo.write(&batch(edits)).expect("written");
            wins += usize::from(written.conflicts.is_empty());
        }
        wins
    }
}

fn number_of(text: &str) -> usize {
    text.split(' ').next().and_then(|it| it.parse().ok()).expect("a number")
}
