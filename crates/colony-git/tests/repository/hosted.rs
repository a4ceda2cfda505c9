//! The repository CO hosts: written here, pushed to by people, interrupted anywhere.

use std::path::Path;

use colony_core::id::BlobId;
use colony_git::{Deployments, Edit};
use tempfile::TempDir;

use crate::kit::{Person, batch, edit, git, git_try, put, written_text};

const HELLO: &str = "deployments/home/hello.yaml";

#[test]
fn a_fresh_repository_can_be_cloned_and_is_kept() {
    let (keep, repo) = hosted();
    let first = repo.head().expect("readable").expect("a first commit");
    let person = Person::of(path(&keep).to_str().expect("UTF-8"));
    assert_eq!(person.head(), first.as_str());
    drop(repo);
    let again = Deployments::hosted(&path(&keep)).expect("opens");
    assert_eq!(again.refresh().expect("readable"), Some(first));
}

#[test]
fn a_batch_is_one_commit_that_a_person_can_read() {
    let (keep, repo) = hosted();
    let edits =
        vec![edit(HELLO, None, Some("a: 1\n")), edit("sites/home.yaml", None, Some("b: 2\n"))];
    let written = repo.write(&batch(edits)).expect("written");
    assert_eq!(written_text(&written), format!("commit done[{HELLO} sites/home.yaml] conflicts[]"));
    let dir = path(&keep);
    let log = git(&dir, &["log", "--format=%an <%ae>|%cn|%at|%s|%(trailers:unfold)", "-1", "main"]);
    assert_eq!(log, "alice <alice@colony>|colony|1800000000|deploy hello|Colony-Actor: alice");
    assert_eq!(git(&dir, &["show", &format!("main:{HELLO}")]), "a: 1");
    assert_eq!(git(&dir, &["rev-list", "--count", "main"]), "2");
    git(&dir, &["fsck", "--strict", "--no-dangling"]);
    assert_eq!(written.revision, repo.head().expect("readable"));
}

#[test]
fn a_different_blob_is_never_overwritten() {
    let (keep, repo) = hosted();
    let mine = put(&repo, HELLO, "a: 1\nb: 1\n").done[0].1.clone();
    let person = Person::of(path(&keep).to_str().expect("UTF-8"));
    person.put(HELLO, "a: 1\nb: 2\n").commit("by hand").push();
    let other = "deployments/home/other.yaml";
    let edits =
        vec![edit(HELLO, mine.as_ref(), Some("a: 1\nb: 3\n")), edit(other, None, Some("x\n"))];
    let written = repo.write(&batch(edits)).expect("written");
    assert_eq!(written_text(&written), format!("commit done[{other}] conflicts[{HELLO}]"));
    let conflict = &written.conflicts[0];
    assert_eq!(conflict.expected, mine);
    assert_eq!(conflict.found, repo.blob_at(HELLO).expect("readable"));
    assert_eq!(
        conflict.diff,
        format!("--- a/{HELLO}\n+++ b/{HELLO}\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n")
    );
    assert_eq!(person.pull().read(HELLO), "a: 1\nb: 2\n");
}

#[test]
fn edit_that_belongs_to_one_in_conflict_is_left_out() {
    let (_keep, repo) = hosted();
    let mine = put(&repo, HELLO, "a: 1\n").done[0].1.clone();
    let mark = "deployments/home/a.purge";
    let with = |expected: Option<&BlobId>| {
        let mark = Edit { only_with: Some(HELLO.to_owned()), ..edit(mark, None, Some("x\n")) };
        batch(vec![mark, edit(HELLO, expected, None)])
    };
    let written = repo.write(&with(None)).expect("answered");
    assert_eq!(written_text(&written), format!("nothing done[] conflicts[{HELLO}]"));
    assert_eq!(repo.blob_at(mark).expect("readable"), None);
    let written = repo.write(&with(mine.as_ref())).expect("answered");
    assert_eq!(written_text(&written), format!("commit done[{HELLO} {mark}] conflicts[]"));
}

#[test]
fn all_in_conflict_makes_no_commit() {
    let (_keep, repo) = hosted();
    put(&repo, HELLO, "a: 1\n");
    let head = repo.head().expect("readable");
    let written = repo.write(&batch(vec![edit(HELLO, None, Some("a: 2\n"))])).expect("answered");
    assert_eq!(written_text(&written), format!("nothing done[] conflicts[{HELLO}]"));
    assert_eq!((repo.head().expect("readable"), &written.head), (head.clone(), &head));
}

#[test]
fn what_is_there_already_counts_as_done() {
    let (_keep, repo) = hosted();
    let first = put(&repo, HELLO, "a: 1\n");
    let again = batch(vec![
        edit(HELLO, None, Some("a: 1\n")),
        edit("deployments/home/gone.yaml", first.done[0].1.as_ref(), None),
    ]);
    let written = repo.write(&again).expect("answered");
    assert_eq!(
        written_text(&written),
        format!("nothing done[{HELLO} deployments/home/gone.yaml] conflicts[]")
    );
    assert_eq!(written.head, first.revision);
    assert_eq!(written.done[0].1, first.done[0].1);
}

#[test]
fn a_crash_between_commit_and_branch_is_resumed() {
    let (keep, repo) = hosted();
    let dir = path(&keep);
    let before = repo.head().expect("readable");
    // What a process leaves that dies with its objects written and the branch locked.
    let file = keep.path().join("text");
    std::fs::write(&file, "a: 1\n").expect("a file");
    let blob = git(&dir, &["hash-object", "-w", file.to_str().expect("UTF-8")]);
    std::fs::write(dir.join("refs/heads/main.lock"), "").expect("a lock");
    drop(repo);
    let repo = Deployments::hosted(&dir).expect("opens");
    assert_eq!(repo.head().expect("readable"), before);
    let written = put(&repo, HELLO, "a: 1\n");
    assert_eq!(written.done[0].1.as_ref().map(|it| it.as_str()), Some(blob.as_str()));
    assert_eq!(git(&dir, &["rev-list", "--count", "main"]), "2");
    git(&dir, &["fsck", "--strict"]);
}

#[test]
fn a_half_made_repository_is_completed() {
    let keep = TempDir::new().expect("a folder");
    std::fs::create_dir_all(path(&keep).join("objects/pack")).expect("a folder");
    let repo = Deployments::hosted(&path(&keep)).expect("opens");
    put(&repo, HELLO, "a: 1\n");
    git(&path(&keep), &["fsck", "--strict"]);
}

#[test]
fn people_and_colony_write_at_once_and_nothing_is_lost() {
    let (keep, repo) = hosted();
    let dir = path(&keep);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..30 {
                put(&repo, &format!("deployments/home/ours-{number}.yaml"), "ours\n");
            }
        });
        scope.spawn(|| {
            let second = Deployments::hosted(&dir).expect("opens");
            for number in 0..30 {
                put(&second, &format!("deployments/home/second-{number}.yaml"), "second\n");
            }
        });
        scope.spawn(|| {
            let person = Person::of(dir.to_str().expect("UTF-8"));
            for number in 0..10 {
                person.put(&format!("theirs-{number}"), "theirs\n").commit("by hand");
                while !git_try(&person.dir, &["push", "-q", "origin", "main"]).0 {
                    person.pull();
                }
            }
        });
    });
    assert_eq!(repo.list("deployments").expect("readable").len(), 60);
    let person = Person::of(dir.to_str().expect("UTF-8"));
    assert_eq!(git(&person.dir, &["ls-files", "theirs-*"]).lines().count(), 10);
    assert_eq!(git(&dir, &["rev-list", "--count", "main"]), "71");
    git(&dir, &["fsck", "--strict"]);
}

#[test]
fn people_cannot_rewrite_the_history() {
    let (keep, repo) = hosted();
    put(&repo, HELLO, "a: 1\n");
    let person = Person::of(path(&keep).to_str().expect("UTF-8"));
    git(&person.dir, &["commit", "-q", "--amend", "-m", "other"]);
    let (ok, said) = git_try(&person.dir, &["push", "--force", "origin", "main"]);
    assert!(!ok && said.contains("non-fast-forward"), "{said}");
    let (ok, said) = git_try(&person.dir, &["push", "origin", ":main"]);
    assert!(!ok && said.contains("deletion prohibited"), "{said}");
}

#[test]
fn a_file_where_a_folder_is_asked_for_is_a_conflict_and_the_other_way_round() {
    let (_keep, repo) = hosted();
    put(&repo, "deployments/home", "a file\n");
    put(&repo, "sites/a/b.yaml", "a folder\n");
    let edits = vec![edit(HELLO, None, Some("x\n")), edit("sites/a", None, Some("y\n"))];
    let written = repo.write(&batch(edits)).expect("answered");
    assert_eq!(written_text(&written), format!("nothing done[] conflicts[{HELLO} sites/a]"));
    assert!(written.conflicts[0].diff.contains("-a file"), "{}", written.conflicts[0].diff);
    assert!(written.conflicts[1].diff.contains("a folder"), "{}", written.conflicts[1].diff);
}

#[test]
fn the_last_file_takes_its_folder_with_it() {
    let (keep, repo) = hosted();
    let blob = put(&repo, HELLO, "a: 1\n").done[0].1.clone();
    let written = repo.write(&batch(vec![edit(HELLO, blob.as_ref(), None)])).expect("written");
    assert_eq!(written.done, [(HELLO.to_owned(), None)]);
    assert_eq!(git(&path(&keep), &["ls-tree", "-r", "-t", "main"]), "");
    assert_eq!(repo.blob_at(HELLO).expect("readable"), None);
    git(&path(&keep), &["fsck", "--strict"]);
}

#[test]
fn the_sites_that_hold_a_file_are_those_of_the_head() {
    let (_keep, repo) = hosted();
    let check = |expected: &[&str]| {
        let found = repo.sites_holding("hello.yaml").expect("readable");
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    };
    check(&[]);
    put(&repo, "deployments/b/hello.yaml", "a: 1\n");
    put(&repo, "deployments/a/other.yaml", "a: 1\n");
    put(&repo, "deployments/c/hello.yaml/a.yaml", "a: 1\n");
    put(&repo, "deployments/hello.yaml", "a: 1\n");
    check(&["b"]);
    let blob = put(&repo, "deployments/a/hello.yaml", "a: 1\n").done[0].1.clone();
    check(&["a", "b"]);
    let gone = edit("deployments/a/hello.yaml", blob.as_ref(), None);
    repo.write(&batch(vec![gone])).expect("written");
    check(&["b"]);
}

#[test]
fn bad_batches_are_refused_whole() {
    let (_keep, repo) = hosted();
    let large = "x".repeat(1024 * 1024 + 1);
    for (edits, expected) in [
        (vec![edit("../x", None, None)], "a part of it is `.` or `..`"),
        (vec![edit(".git/config", None, None)], "belongs to Git"),
        (vec![edit("/x", None, None)], "it is absolute"),
        (vec![edit("a", None, Some("1")), edit("a", None, Some("2"))], "edited twice"),
        (vec![edit("a", None, Some(&large))], "more than the 1048576 allowed"),
    ] {
        let error = repo.write(&batch(edits)).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn history_names_who_changed_a_file_and_what_it_became() {
    let (keep, repo) = hosted();
    let first = put(&repo, HELLO, "a: 1\n");
    put(&repo, "sites/home.yaml", "b: 1\n");
    let person = Person::of(path(&keep).to_str().expect("UTF-8"));
    person.put(HELLO, "a: 2\n").commit("by hand\n\nbecause").push();
    let blob = repo.blob_at(HELLO).expect("readable");
    repo.write(&batch(vec![edit(HELLO, blob.as_ref(), None)])).expect("written");
    let history = repo.history(HELLO, 10).expect("readable");
    let told: Vec<String> = history
        .iter()
        .map(|it| format!("{}: {} {}", it.author, it.subject, it.blob.is_some()))
        .collect();
    assert_eq!(told.len(), 3);
    for expected in ["alice: deploy hello false", "Pat: by hand true", "alice: deploy hello true"] {
        assert!(told.iter().any(|it| it == expected), "{told:?}");
    }
    assert_eq!(repo.history(HELLO, 1).expect("readable").len(), 1);
    let (old, new) = (first.revision.expect("a commit"), repo.head().expect("readable"));
    let new = new.expect("a head");
    assert!(repo.is_ancestor(&old, &new).expect("known"));
    assert!(!repo.is_ancestor(&new, &old).expect("known"));
    assert!(!repo.is_ancestor(&"0".repeat(40).parse().expect("hex"), &new).expect("unknown"));
}

#[test]
fn old_texts_stay_readable_by_their_blob() {
    let (keep, repo) = hosted();
    let blob = put(&repo, HELLO, "a: 1\n").done[0].1.clone().expect("a blob");
    put(&repo, HELLO, "a: 2\n");
    assert_eq!(repo.text(&blob).expect("readable").as_deref(), Some("a: 1\n"));
    let unknown = "0123456789012345678901234567890123456789".parse().expect("hex");
    assert_eq!(repo.text(&unknown).expect("answered"), None);
    let person = Person::of(path(&keep).to_str().expect("UTF-8"));
    person.put("raw", [0xff, 0xfe]).commit("raw").push();
    let raw = repo.blob_at("raw").expect("readable").expect("a blob");
    assert_eq!(repo.text(&raw).expect("answered"), None);
}

#[test]
fn a_repository_that_was_packed_up_goes_on() {
    let (keep, repo) = hosted();
    let dir = path(&keep);
    let blob = put(&repo, HELLO, "a: 1\n").done[0].1.clone();
    repo.maintain().expect("maintained");
    git(&dir, &["gc", "-q"]);
    assert!(!dir.join("refs/heads/main").exists(), "packed");
    put(&repo, "sites/home.yaml", "b: 1\n");
    let written = repo.write(&batch(vec![edit(HELLO, blob.as_ref(), Some("a: 2\n"))]));
    assert_eq!(
        written_text(&written.expect("written")),
        format!("commit done[{HELLO}] conflicts[]")
    );
    assert_eq!(git(&dir, &["rev-list", "--count", "main"]), "4");
}

#[test]
fn many_files_are_one_commit() {
    let (keep, repo) = hosted();
    let edits: Vec<_> = (0..1000)
        .map(|it| {
            edit(&format!("deployments/s{}/d{it}.yaml", it % 50), None, Some(&format!("n: {it}\n")))
        })
        .collect();
    let written = repo.write(&batch(edits)).expect("written");
    assert_eq!(written.done.len(), 1000);
    assert_eq!(git(&path(&keep), &["rev-list", "--count", "main"]), "2");
    git(&path(&keep), &["fsck", "--strict"]);
}

fn hosted() -> (TempDir, Deployments) {
    let keep = TempDir::new().expect("a folder");
    let repo = Deployments::hosted(&path(&keep)).expect("opens");
    (keep, repo)
}

fn path(keep: &TempDir) -> std::path::PathBuf {
    Path::join(keep.path(), "deployments.git")
}
