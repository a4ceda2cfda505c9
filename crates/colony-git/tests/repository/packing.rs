//! A copy that follows a branch for long: few packs, little more than a clone, whole after a crash.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use colony_core::id::GitRevision;
use colony_git::{Deployments, Watch};
use colony_testkit::App;
use tempfile::TempDir;

use crate::kit::{Person, at, batch, edit, git, site};

const PACKS: usize = 32;

#[test]
fn hundreds_of_commits_become_a_few_packs() {
    let world = World::new();
    let watch = world.open();
    let mut base = None;
    for number in 0..200 {
        base = Some(world.follow(&watch, number, base.as_ref()));
        let packs = watch.footprint().expect("readable").0;
        assert!(packs <= PACKS + 1, "{packs} packs after {number} commits");
    }
    let (packs, bytes) = watch.footprint().expect("readable");
    let git_bytes = world.clone_bytes();
    println!("{packs} packs, {bytes} bytes; a clone by git has {git_bytes}");
    assert!(bytes < 3 * git_bytes, "{bytes} bytes, a clone by git has {git_bytes}");
    git(&world.copy(), &["fsck", "--strict", "--full"]);
    let count = git(&world.copy(), &["rev-list", "--objects", "--count", "origin/main"]);
    assert_eq!(count, git(&world.upstream(), &["rev-list", "--objects", "--count", "main"]));
}

#[test]
fn a_base_of_a_rewritten_history_stays_while_it_is_needed() {
    let world = World::new();
    let watch = world.open();
    let first = (0..PACKS).fold(None, |base, it| Some(world.follow(&watch, it, base.as_ref())));
    // Another history takes the branch's place, and nothing is large enough to stay as it is.
    std::fs::rename(world.upstream(), world.path("old.git")).expect("moved");
    let other = World::new();
    std::fs::rename(other.upstream(), world.upstream()).expect("moved");
    let repo = Deployments::hosted(&world.upstream()).expect("opens");
    for number in 100..103 {
        deploy(&repo, number);
        watch.fetch().expect("reachable");
    }
    watch.maintain(first.as_ref()).expect("packed up");
    assert_eq!(watch.footprint().expect("readable").0, 1);
    let commit = watch.commit(&site("home"), first.as_ref()).expect("readable").expect("new");
    assert!(commit.rewritten && commit.base == first, "{commit:?}");
    // The site has taken the new history: the old one goes with the next time.
    for number in 103..140 {
        deploy(&repo, number);
        watch.fetch().expect("reachable");
    }
    watch.maintain(Some(&commit.revision)).expect("packed up");
    let commit = watch.commit(&site("home"), first.as_ref()).expect("readable").expect("new");
    assert!(commit.rewritten && commit.base.is_none(), "{commit:?}");
}

#[test]
fn packing_up_needs_nobody() {
    let world = World::new();
    let watch = world.open();
    let base = (0..=PACKS).fold(None, |base, it| Some(world.fetch(&watch, it, base.as_ref())));
    std::fs::rename(world.upstream(), world.path("away.git")).expect("moved");
    watch.fetch().expect_err("no server there");
    watch.maintain(base.as_ref()).expect("packed up");
    assert_eq!(watch.footprint().expect("readable").0, 1);
    assert_eq!(watch.head().expect("readable"), base);
}

#[test]
fn reading_goes_on_meanwhile() {
    let world = World::new();
    let watch = world.open();
    let first = Some(world.fetch(&watch, 0, None));
    let last = (1..=PACKS).fold(None, |base, it| Some(world.fetch(&watch, it, base.as_ref())));
    std::thread::scope(|scope| {
        let reader = || {
            for _ in 0..50 {
                let commit = watch.commit(&site("home"), first.as_ref());
                assert_eq!(commit.expect("readable").map(|it| it.revision), last);
            }
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(reader)).collect();
        watch.maintain(last.as_ref()).expect("packed up");
        readers.into_iter().for_each(|it| it.join().expect("no panic"));
    });
}

/// Each state a power cut or `kill -9` may leave, made of the files before and after.
#[test]
fn a_crash_in_between_loses_nothing() {
    let world = World::new();
    let watch = world.open();
    let first = Some(world.fetch(&watch, 0, None));
    let last = (1..=PACKS).fold(None, |base, it| Some(world.fetch(&watch, it, base.as_ref())));
    let (before, after) = (world.path("before"), world.path("after"));
    copy_all(&world.copy(), &before);
    watch.maintain(last.as_ref()).expect("packed up");
    copy_all(&world.copy(), &after);
    drop(watch);
    let (old, new) = (packs_of(&before), packs_of(&after));
    let kind = |all: &BTreeSet<PathBuf>, extension: &str| -> Vec<PathBuf> {
        all.iter().filter(|it| it.extension().is_some_and(|it| it == extension)).cloned().collect()
    };
    let half = |all: Vec<PathBuf>| all.iter().take(all.len() / 2).cloned().collect::<Vec<_>>();
    let everything: Vec<PathBuf> = new.iter().cloned().collect();
    let none: Vec<PathBuf> = Vec::new();
    let states = [
        ("while the pack is written", none.clone(), none.clone()),
        ("before its index is there", kind(&new, "pack"), none.clone()),
        ("before an old index is gone", everything.clone(), none),
        ("with some old indices gone", everything.clone(), half(kind(&old, "idx"))),
        ("before an old pack is gone", everything.clone(), kind(&old, "idx")),
        (
            "with some old packs gone",
            everything,
            [kind(&old, "idx"), half(kind(&old, "pack"))].concat(),
        ),
    ];
    for (number, (what, added, removed)) in states.into_iter().enumerate() {
        std::fs::remove_dir_all(world.copy()).expect("removed");
        copy_all(&before, &world.copy());
        let pack = |base: &Path| base.join("objects/pack");
        for file in added {
            std::fs::copy(pack(&after).join(&file), pack(&world.copy()).join(&file)).expect("copy");
        }
        for file in removed {
            std::fs::remove_file(pack(&world.copy()).join(file)).expect("removed");
        }
        std::fs::create_dir_all(world.copy().join("packing")).expect("a folder");
        std::fs::write(world.copy().join("packing/stream"), "PACK").expect("half a pack");
        std::fs::write(pack(&world.copy()).join("tmp_half"), "PACK").expect("half a pack");
        world.usable((1000 + 2 * number, what), first.as_ref(), last.as_ref());
    }
}

struct World {
    keep: TempDir,
    repo: Deployments,
}

impl World {
    fn new() -> World {
        let keep = TempDir::new().expect("a folder");
        let repo = Deployments::hosted(&keep.path().join("upstream.git")).expect("opens");
        World { keep, repo }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    fn upstream(&self) -> PathBuf {
        self.path("upstream.git")
    }

    fn copy(&self) -> PathBuf {
        self.path("copy")
    }

    fn open(&self) -> Watch {
        Watch::open(&self.copy(), at(self.upstream()), "main").expect("opens")
    }

    /// One commit more, fetched and looked at.
    fn fetch(&self, watch: &Watch, number: usize, base: Option<&GitRevision>) -> GitRevision {
        deploy(&self.repo, number);
        watch.fetch().expect("reachable");
        let commit = watch.commit(&site("home"), base).expect("readable").expect("new");
        assert!(!commit.rewritten && commit.base.as_ref() == base);
        let expected = if base.is_some() { 1 } else { 1 + number };
        assert_eq!(commit.files.len(), expected, "the difference of commit {number}");
        commit.revision
    }

    fn follow(&self, watch: &Watch, number: usize, base: Option<&GitRevision>) -> GitRevision {
        let revision = self.fetch(watch, number, base);
        watch.maintain(Some(&revision)).expect("packed up");
        revision
    }

    /// What is there is read, followed on and packed up, and no clutter stays.
    #[track_caller]
    fn usable(
        &self,
        (number, what): (usize, &str),
        first: Option<&GitRevision>,
        last: Option<&GitRevision>,
    ) {
        let watch = self.open();
        assert_eq!(watch.head().expect("readable").as_ref(), last, "{what}");
        let commit = watch.commit(&site("home"), first).expect("readable").expect("new");
        assert!(!commit.rewritten && commit.base.as_ref() == first, "{what}");
        git(&self.copy(), &["fsck", "--full"]);
        deploy(&self.repo, number);
        deploy(&self.repo, number + 1);
        watch.fetch().expect("reachable");
        watch.maintain(last).expect("packed up");
        let commit = watch.commit(&site("home"), last).expect("readable").expect("new");
        assert!(!commit.rewritten && commit.base.as_ref() == last, "{what}");
        git(&self.copy(), &["fsck", "--full"]);
        assert!(!self.copy().join("packing").exists(), "{what}");
        let (files, packs) = (packs_of(&self.copy()), watch.footprint().expect("readable").0);
        assert!(packs <= PACKS && files.len() == 2 * packs, "{what}: {files:?}");
    }

    fn clone_bytes(&self) -> u64 {
        let upstream = format!("file://{}", self.upstream().display());
        let person = Person::of(&upstream);
        let folder = person.dir.join(".git/objects/pack");
        let sizes = std::fs::read_dir(folder).expect("a folder").map(|it| {
            let path = it.expect("an entry").path();
            let pack = path.extension().is_some_and(|it| it == "pack");
            if pack { path.metadata().expect("a file").len() } else { 0 }
        });
        sizes.sum()
    }
}

/// Twenty applications that are changed in turn.
fn deploy(repo: &Deployments, number: usize) {
    let name = format!("app-{}", number % 20);
    let path = format!("deployments/home/{name}.yaml");
    let text = App::new(&name, &format!("1.{number}.0")).text(&site("home"));
    let held = repo.blob_at(&path).expect("readable");
    let written = repo.write(&batch(vec![edit(&path, held.as_ref(), Some(&text))]));
    assert!(written.expect("written").revision.is_some());
}

fn packs_of(copy: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(copy.join("objects/pack")).expect("a folder");
    entries.map(|it| it.expect("an entry").file_name().into()).collect()
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_all(&from, &to),
            false => drop(std::fs::copy(&from, &to).expect("a copy")),
        }
    }
}
