//! Application registries: repositories and plain folders.

use colony_git::registry::{Packages, packages};
use colony_git::{Error, FetchLimits};
use tempfile::TempDir;

use crate::kit::{at, git};
use crate::remote::World;

#[test]
fn every_package_of_a_repository_is_found() {
    let world = World::empty();
    let person = world.person();
    person.put("hello/margo.yaml", "a").put("deep/er/margo.yaml", "b").put("margo.yaml", "c");
    person.put("large/margo.yaml", vec![b'x'; 1024 * 1024 + 1]).put("no/margo.yml", "d");
    person.commit("packages").push();
    let first = read(&world, None);
    assert_eq!(packages_text(&first), "deep/er=b hello=a =c skipped: large/margo.yaml");
    assert_eq!(first.revision, person.head());

    person.put("hello/margo.yaml", "a2").commit("an update").push();
    assert_eq!(
        packages_text(&read(&world, None)),
        "deep/er=b hello=a2 =c skipped: large/margo.yaml"
    );
}

#[test]
fn a_branch_can_be_asked_for() {
    let world = World::empty();
    let person = world.person();
    person.put("margo.yaml", "main").commit("main").push();
    person.put("margo.yaml", "next").commit("next");
    git(&person.dir, &["push", "-q", "origin", "HEAD:next"]);
    assert_eq!(packages_text(&read(&world, Some("next"))), "=next");
    assert_eq!(packages_text(&read(&world, None)), "=main");
    assert_eq!(packages_text(&read(&world, Some("gone"))), "");
}

#[test]
fn a_clone_with_a_worktree_is_read_at_its_head() {
    let world = World::empty();
    let person = world.person();
    person.put("margo.yaml", "committed").commit("x").put("margo.yaml", "edited");
    let read = packages(&world.dir("cache"), &at(&person.dir), None, FetchLimits::default())
        .expect("readable");
    assert_eq!(packages_text(&read), "=committed");
}

#[test]
fn a_plain_folder_is_read_as_it_is() {
    let keep = TempDir::new().expect("a folder");
    let root = keep.path().join("apps");
    for (folder, text) in [("hello", "a"), ("deep/er", "b")] {
        std::fs::create_dir_all(root.join(folder)).expect("a folder");
        std::fs::write(root.join(folder).join("margo.yaml"), text).expect("a file");
    }
    std::fs::create_dir(root.join("link")).expect("a folder");
    std::os::unix::fs::symlink("/etc/passwd", root.join("link/margo.yaml")).expect("a link");
    std::os::unix::fs::symlink(&root, root.join("loop")).expect("a link");
    let first = packages(&keep.path().join("cache"), &at(&root), None, FetchLimits::default())
        .expect("readable");
    assert_eq!(packages_text(&first), "deep/er=b hello=a skipped: link/margo.yaml");
    std::fs::write(root.join("hello/margo.yaml"), "a2").expect("a file");
    let second = packages(&keep.path().join("cache"), &at(&root), None, FetchLimits::default())
        .expect("readable");
    assert_ne!(first.revision, second.revision);
}

#[test]
fn a_registry_that_is_not_there_says_so() {
    let keep = TempDir::new().expect("a folder");
    let nowhere = at(keep.path().join("nowhere"));
    let error = packages(&keep.path().join("cache"), &nowhere, None, FetchLimits::default())
        .expect_err("nothing there");
    assert!(matches!(error, Error::Remote { .. }), "{error:?}");
}

#[track_caller]
fn read(world: &World, branch: Option<&str>) -> Packages {
    packages(&world.dir("cache"), &world.remote(), branch, FetchLimits::default())
        .expect("readable")
}

fn packages_text(read: &Packages) -> String {
    let package = |it: &colony_git::registry::PackageFile| {
        format!("{}={}", it.path, String::from_utf8_lossy(&it.text))
    };
    let mut all: Vec<String> = read.packages.iter().map(package).collect();
    if !read.skipped.is_empty() {
        all.push(format!("skipped: {}", read.skipped.join(" ")));
    }
    all.join(" ")
}
