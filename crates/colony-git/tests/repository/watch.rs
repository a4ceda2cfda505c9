//! A site's reader: only its own folder, only what changed, never an error for a bad file.

use colony_core::id::GitRevision;
use colony_core::purge::mark_path;
use colony_core::site::{Commit, Content, File};
use colony_git::Watch;
use colony_testkit::{App, deployment_id};

use crate::kit::{Person, git, site};
use crate::remote::{World, damage};

#[test]
fn a_branch_that_is_not_there_says_nothing() {
    let world = World::empty();
    let watch = open(&world);
    assert_eq!(watch.fetch().expect("reachable"), None);
    assert_eq!(watch.head().expect("readable"), None);
    assert!(watch.commit(&site("home"), None).expect("answered").is_none());
}

#[test]
fn the_first_look_lists_everything_and_the_next_what_changed() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    app(&person, "home", "other", "1.0.0");
    app(&person, "away", "hello", "1.0.0");
    person.put("sites/home.yaml", "labels: {}\n").put("README.md", "hi\n").commit("first").push();
    let first = look(&watch, None);
    assert_eq!(
        commit_text(&first),
        "sites/home.yaml settings, deployments/home/hello.yaml deployed, deployments/home/other.yaml deployed"
    );
    assert!(first.base.is_none() && !first.rewritten);

    app(&person, "home", "hello", "1.1.0");
    person.remove("deployments/home/other.yaml").remove("sites/home.yaml").commit("second").push();
    let second = look(&watch, Some(&first.revision));
    assert_eq!(
        commit_text(&second),
        "sites/home.yaml gone, deployments/home/hello.yaml deployed, deployments/home/other.yaml gone"
    );
    assert_eq!((second.base.as_ref(), second.rewritten), (Some(&first.revision), false));
    watch.fetch().expect("reachable");
    assert!(watch.commit(&site("home"), Some(&second.revision)).expect("answered").is_none());
}

/// Only the path counts, also where the content is not text.
#[test]
fn mark_of_a_purge_is_read_with_the_deployment_that_goes() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    let first = look(&watch, None);
    let mark = mark_path(&site("home"), &deployment_id("hello"));
    person.remove("deployments/home/hello.yaml").put(&mark, "").put("deployments/home/a.purge", "");
    person.commit("hello goes with its volumes").push();
    let second = look(&watch, Some(&first.revision));
    let a = "deployments/home/a.purge gone";
    assert_eq!(
        commit_text(&second),
        format!("{mark} purge, {a}, deployments/home/hello.yaml gone")
    );
    assert!(commit_text(&look(&watch, None)).contains(&format!("{mark} purge")));
    person.remove(&mark).commit("nothing more to do").push();
    assert_eq!(commit_text(&look(&watch, Some(&second.revision))), format!("{mark} gone"));
}

#[test]
fn each_file_names_the_commit_that_brought_it() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("hello");
    let hello = person.head();
    app(&person, "home", "other", "1.0.0");
    person.commit("other").push();
    let other = person.head();
    let first = look(&watch, None);
    assert_eq!(origins(&first), format!("hello {hello}, other {other}"));

    git(&person.dir, &["checkout", "-q", "-b", "side", "HEAD~1"]);
    app(&person, "home", "side", "1.0.0");
    person.commit("side");
    let side = person.head();
    git(&person.dir, &["checkout", "-q", "main"]);
    app(&person, "home", "hello", "1.1.0");
    person.commit("by hand");
    let by_hand = person.head();
    git(&person.dir, &["merge", "-q", "--no-ff", "-m", "both", "side"]);
    person.put("README.md", "hi\n").commit("elsewhere").push();
    let second = look(&watch, Some(&first.revision));
    assert_eq!(origins(&second), format!("hello {by_hand}, side {side}"));

    git(&person.dir, &["checkout", "-q", "-b", "rival"]);
    app(&person, "home", "hello", "1.2.0");
    person.commit("rival");
    git(&person.dir, &["checkout", "-q", "main"]);
    app(&person, "home", "hello", "1.3.0");
    person.commit("mine");
    git(&person.dir, &["merge", "-q", "--no-commit", "-s", "ours", "rival"]);
    app(&person, "home", "hello", "1.4.0");
    person.commit("a conflict settled by hand").push();
    let third = look(&watch, Some(&second.revision));
    assert_eq!(origins(&third), format!("hello {}", person.head()));
}

/// The deployments of a commit, each with the commit that brought it.
fn origins(commit: &Commit) -> String {
    let origin = |it: &File| match &it.content {
        Content::Deployment(it) => {
            let commit = it.commit.as_ref().map(ToString::to_string).unwrap_or_default();
            Some(format!("{} {commit}", it.name))
        }
        Content::Site(_) | Content::Refused(_) | Content::Purge(_) | Content::Gone => None,
    };
    commit.files.iter().filter_map(origin).collect::<Vec<_>>().join(", ")
}

#[test]
fn locks_of_a_process_that_was_killed_in_a_fetch_are_gone_at_the_next_start() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    let first = look(&watch, None).revision;
    drop(watch);
    for name in ["refs/remotes/origin/main.lock", "packed-refs.lock"] {
        std::fs::write(world.dir("watch").join(name), "").expect("a lock that stays");
    }
    app(&person, "home", "hello", "1.1.0");
    person.commit("second").push();
    let second = look(&open(&world), Some(&first)).revision;
    assert_eq!(second.as_str(), person.head());
}

#[test]
fn a_copy_that_stays_open_takes_any_number_of_commits() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    let mut base = None;
    for version in 0..40 {
        app(&person, "home", "hello", &format!("1.{version}.0"));
        person.commit("another").push();
        base = Some(look(&watch, base.as_ref()).revision);
    }
    assert_eq!(base.as_ref().map(GitRevision::as_str), Some(person.head().as_str()));
}

#[test]
fn several_commits_are_one_difference() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    let first = look(&watch, None);
    app(&person, "home", "brief", "1.0.0");
    person.commit("second").remove("deployments/home/brief.yaml").commit("third");
    app(&person, "home", "hello", "1.2.0");
    person.commit("fourth").push();
    assert_eq!(
        commit_text(&look(&watch, Some(&first.revision))),
        "deployments/home/hello.yaml deployed"
    );
}

#[test]
fn cost_follows_the_change() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    for number in 0..3000 {
        app(&person, &format!("s{}", number % 30), &format!("d{number}"), "1.0.0");
    }
    person.commit("a fleet").push();
    let first = look_at(&watch, "s7", None);
    assert_eq!(first.files.len(), 100);
    assert_eq!((watch.stats().blobs, watch.stats().trees), (100, 1));

    app(&person, "s7", "d7", "1.1.0");
    app(&person, "s8", "d8", "1.1.0");
    person.commit("one each").push();
    let second = look_at(&watch, "s7", Some(&first.revision));
    assert_eq!(commit_text(&second), "deployments/s7/d7.yaml deployed");
    assert_eq!((watch.stats().blobs, watch.stats().trees), (101, 3));

    app(&person, "s8", "d8", "1.2.0");
    person.commit("elsewhere").push();
    let third = look_at(&watch, "s7", Some(&second.revision));
    assert_eq!(commit_text(&third), "");
    assert_eq!((watch.stats().blobs, watch.stats().trees), (101, 3));
}

#[test]
fn a_rewritten_history_is_flagged() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    let first = look(&watch, None);
    app(&person, "home", "hello", "1.1.0");
    git(&person.dir, &["commit", "-q", "-a", "--amend", "-m", "other"]);
    git(&person.dir, &["push", "-q", "--force", "origin", "main"]);
    let second = look(&watch, Some(&first.revision));
    assert_eq!(commit_text(&second), "deployments/home/hello.yaml deployed");
    assert!(second.rewritten && second.base == Some(first.revision));
}

#[test]
fn a_base_that_nobody_knows_lists_everything_as_rewritten() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    let unknown = "1234567890123456789012345678901234567890".parse().expect("hex");
    let commit = look(&watch, Some(&unknown));
    assert_eq!(commit_text(&commit), "deployments/home/hello.yaml deployed");
    assert!(commit.rewritten && commit.base.is_none());
}

#[test]
fn bad_files_are_findings_and_hold_up_nothing() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    let folder = "deployments/home";
    person.put(&format!("{folder}/binary.yaml"), [0xff, 0x00, 0xfe]);
    person.put(&format!("{folder}/broken.yaml"), "a: [\n");
    person.put(&format!("{folder}/large.yaml"), "x".repeat(1024 * 1024 + 1));
    person.put(&format!("{folder}/Not A Name.yaml"), "a: 1\n");
    person.put(&format!("{folder}/sub/deep.yaml"), "a: 1\n");
    std::os::unix::fs::symlink("/etc/passwd", person.dir.join(folder).join("link.yaml"))
        .expect("a link");
    person.commit("bad").push();
    let commit = look(&watch, None);
    let refused: Vec<String> = commit.files.iter().filter_map(problem).collect();
    assert_eq!(refused.len(), 6, "{refused:?}");
    for expected in [
        "large.yaml: the file has 1048577 bytes",
        "link.yaml: this is a link, not a regular file",
        "binary.yaml: ",
        "broken.yaml: ",
        "Not A Name.yaml: ",
        "sub/deep.yaml: ",
    ] {
        let found = refused.iter().any(|it| it.starts_with(&format!("{folder}/{expected}")));
        assert!(found, "{expected} {refused:?}");
    }
    assert_eq!(commit_text(&commit).matches("deployed").count(), 1);
}

#[test]
fn link_or_folder_in_place_of_a_file_is_a_finding_and_removes_nothing() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    for name in ["hello", "linked", "folder"] {
        app(&person, "home", name, "1.0.0");
    }
    person.put("sites/home.yaml", "labels: {}\n").commit("first").push();
    let first = look(&watch, None);
    for path in ["deployments/home/linked.yaml", "deployments/home/folder.yaml", "sites/home.yaml"]
    {
        person.remove(path);
    }
    // The target exists and is valid: following the link would deploy it.
    let link = person.dir.join("deployments/home/linked.yaml");
    std::os::unix::fs::symlink("hello.yaml", link).expect("a link");
    let text = App::new("inner", "1.0.0").text(&site("home"));
    person.put("deployments/home/folder.yaml/inner.yaml", text);
    person.put("deployments/home/empty.yaml/.gitkeep", "");
    person.put("sites/home.yaml/settings.yaml", "labels: {}\n");
    app(&person, "home", "hello", "1.1.0");
    person.commit("second").push();
    let expected = [
        "sites/home.yaml: this is a folder, not a regular file",
        "deployments/home/empty.yaml: this is a folder, not a regular file",
        "deployments/home/folder.yaml: this is a folder, not a regular file",
        "deployments/home/linked.yaml: this is a link, not a regular file",
    ];
    for base in [None, Some(&first.revision)] {
        let second = look(&watch, base);
        let refused: Vec<String> = second.files.iter().filter_map(problem).collect();
        assert_eq!(refused, expected, "since {base:?}");
        assert!(commit_text(&second).contains("hello.yaml deployed"), "{}", commit_text(&second));
        assert!(!commit_text(&second).contains("gone"), "{}", commit_text(&second));
    }
    let second = look(&watch, Some(&first.revision));

    person.remove("deployments/home/folder.yaml/inner.yaml");
    std::fs::remove_dir(person.dir.join("deployments/home/folder.yaml")).expect("it is empty");
    app(&person, "home", "folder", "1.1.0");
    person.remove("deployments/home/empty.yaml/.gitkeep").commit("third").push();
    let third = look(&watch, Some(&second.revision));
    let expected = "deployments/home/empty.yaml gone, deployments/home/folder.yaml deployed";
    assert_eq!(commit_text(&third), expected);
}

#[test]
fn link_or_file_in_place_of_the_folder_is_a_finding_and_removes_nothing() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    app(&person, "home", "other", "1.0.0");
    person.commit("first").push();
    let first = look(&watch, None);
    person.remove("deployments/home/hello.yaml").remove("deployments/home/other.yaml");
    std::fs::remove_dir(person.dir.join("deployments/home")).expect("it is empty");
    app(&person, "away", "hello", "1.0.0");
    std::os::unix::fs::symlink("away", person.dir.join("deployments/home")).expect("a link");
    person.put("sites/home.yaml", "labels: {}\n").commit("second").push();
    let second = look(&watch, Some(&first.revision));
    let expected = "deployments/home: this is a link, not a folder; deployments stay as they are";
    assert_eq!(second.files.iter().filter_map(problem).collect::<Vec<_>>(), [expected]);
    assert!(commit_text(&second).contains("sites/home.yaml settings"), "{}", commit_text(&second));
    assert!(!commit_text(&second).contains("gone"), "{}", commit_text(&second));
    assert_eq!(second.base.as_ref(), Some(&first.revision));

    // What changed while there was no folder is not known: everything is listed.
    std::fs::remove_file(person.dir.join("deployments/home")).expect("the link is there");
    app(&person, "home", "hello", "1.0.0");
    person.commit("third").push();
    let third = look(&watch, Some(&second.revision));
    assert_eq!((third.base.as_ref(), third.rewritten), (None, false));
    let expected = "sites/home.yaml settings, deployments/home/hello.yaml deployed";
    assert_eq!(commit_text(&third), expected);

    // The folder of all sites is one of its parents.
    person.remove("deployments/home/hello.yaml").remove("deployments/away/hello.yaml");
    std::fs::remove_dir_all(person.dir.join("deployments")).expect("it is there");
    person.put("deployments", "a file\n").commit("fourth").push();
    let fourth = look(&watch, Some(&third.revision));
    let expected = "deployments/home: this is a file, not a folder; deployments stay as they are";
    assert_eq!(fourth.files.iter().filter_map(problem).collect::<Vec<_>>(), [expected]);
}

#[test]
fn names_that_are_not_utf_8_are_findings() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    let name = std::ffi::OsStr::from_bytes(b"bad-\xff.yaml");
    std::fs::write(person.dir.join("deployments/home").join(name), "a: 1\n").expect("a file");
    person.commit("bad").push();
    let commit = look(&watch, None);
    assert_eq!(commit.files.iter().filter_map(problem).count(), 1);
}

#[test]
fn a_damaged_copy_is_fetched_anew() {
    let world = World::empty();
    let (person, watch) = (world.person(), open(&world));
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    let first = look(&watch, None);
    damage(&world.dir("watch"));
    drop(watch);
    let watch = open(&world);
    app(&person, "home", "hello", "1.1.0");
    person.commit("second").push();
    let second = look(&watch, Some(&first.revision));
    assert_eq!(commit_text(&second), "deployments/home/hello.yaml deployed");
    assert_eq!((second.base, second.rewritten), (Some(first.revision), false));
}

#[test]
fn a_remote_can_be_changed() {
    let (old, new) = (World::empty(), World::empty());
    let watch = open(&old);
    watch.fetch().expect("reachable");
    let person = new.person();
    app(&person, "home", "hello", "1.0.0");
    person.commit("first").push();
    watch.set_remote(new.remote());
    assert_eq!(commit_text(&look(&watch, None)), "deployments/home/hello.yaml deployed");
}

fn open(world: &World) -> Watch {
    Watch::open(&world.dir("watch"), world.remote(), "main").expect("opens")
}

fn app(person: &Person, at: &str, name: &str, version: &str) {
    let text = App::new(name, version).text(&site(at));
    person.put(&format!("deployments/{at}/{name}.yaml"), text);
}

#[track_caller]
fn look(watch: &Watch, base: Option<&GitRevision>) -> Commit {
    look_at(watch, "home", base)
}

#[track_caller]
fn look_at(watch: &Watch, at: &str, base: Option<&GitRevision>) -> Commit {
    let head = watch.fetch().expect("reachable");
    let commit = watch.commit(&site(at), base).expect("readable").expect("something new");
    assert_eq!(head.as_ref(), Some(&commit.revision));
    commit
}

fn commit_text(commit: &Commit) -> String {
    let kind = |it: &File| match &it.content {
        Content::Deployment(_) => "deployed",
        Content::Site(_) => "settings",
        Content::Refused(_) => "refused",
        Content::Purge(_) => "purge",
        Content::Gone => "gone",
    };
    let all: Vec<String> =
        commit.files.iter().map(|it| format!("{} {}", it.path, kind(it))).collect();
    all.join(", ")
}

fn problem(file: &File) -> Option<String> {
    match &file.content {
        Content::Refused(findings) => Some(format!("{}: {}", file.path, findings[0].problem)),
        Content::Deployment(_) | Content::Site(_) | Content::Purge(_) | Content::Gone => None,
    }
}
