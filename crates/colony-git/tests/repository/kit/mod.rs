//! A person with the git program, and shorthands for batches. Beside them: a
//! server around `serve`, and the certificates of a fleet.

pub(crate) mod server;
pub(crate) mod tls;

use std::path::{Path, PathBuf};
use std::process::Command;

use colony_core::id::{BlobId, SiteName};
use colony_git::{Auth, Batch, Deployments, Edit, Remote, Written};
use tempfile::TempDir;

/// Runs git in `dir` and returns what it printed.
#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let (ok, out) = git_try(dir, args);
    assert!(ok, "git {args:?}: {out}");
    out
}

pub(crate) fn git_try(dir: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args).env("GIT_TERMINAL_PROMPT", "0");
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        command.env_remove(name);
    }
    for (key, value) in [("NAME", "Pat"), ("EMAIL", "pat@example.org")] {
        command.env(format!("GIT_AUTHOR_{key}"), value);
        command.env(format!("GIT_COMMITTER_{key}"), value);
    }
    let output = command.output().expect("git is there; else: apt-get install git");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
}

/// A bare repository without a commit, as a Git server makes it.
pub(crate) fn bare(dir: &Path) -> PathBuf {
    let path = dir.join("upstream.git");
    git(dir, &["init", "-q", "--bare", "-b", "main", "upstream.git"]);
    path
}

/// A person's clone of a repository.
pub(crate) struct Person {
    pub(crate) dir: PathBuf,
    _keep: TempDir,
}

impl Person {
    pub(crate) fn of(url: &str) -> Person {
        let keep = TempDir::new().expect("a folder");
        // A local clone copies the folder of objects file by file and fails if a
        // temporary one of another writer vanishes meanwhile.
        git(keep.path(), &["clone", "-q", "--no-local", url, "work"]);
        let dir = keep.path().join("work");
        git(&dir, &["checkout", "-q", "-B", "main"]);
        Person { dir, _keep: keep }
    }

    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Person {
        let file = self.dir.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, bytes).expect("a file");
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Person {
        std::fs::remove_file(self.dir.join(path)).expect("a file");
        self
    }

    pub(crate) fn commit(&self, message: &str) -> &Person {
        git(&self.dir, &["add", "-A"]);
        git(&self.dir, &["commit", "-q", "--allow-empty", "-m", message]);
        self
    }

    pub(crate) fn push(&self) -> &Person {
        git(&self.dir, &["push", "-q", "origin", "HEAD:main"]);
        self
    }

    pub(crate) fn pull(&self) -> &Person {
        git(&self.dir, &["pull", "-q", "--rebase", "origin", "main"]);
        self
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.join(path)).expect("a file")
    }

    pub(crate) fn head(&self) -> String {
        git(&self.dir, &["rev-parse", "HEAD"])
    }
}

pub(crate) fn at(url: impl AsRef<Path>) -> Remote {
    let url = url.as_ref().to_str().expect("UTF-8").to_owned();
    Remote { url, auth: Auth::None }
}

pub(crate) fn site(name: &str) -> SiteName {
    name.parse().expect("a name")
}

pub(crate) fn batch(edits: Vec<Edit>) -> Batch {
    Batch {
        message: "deploy hello".to_owned(),
        trailers: vec![("Colony-Actor".to_owned(), "alice".to_owned())],
        author: "alice".to_owned(),
        at_unix: 1_800_000_000,
        edits,
    }
}

pub(crate) fn edit(path: &str, expected: Option<&BlobId>, text: Option<&str>) -> Edit {
    let (expected, text) = (expected.cloned(), text.map(str::to_owned));
    Edit { path: path.to_owned(), expected, text, only_with: None }
}

/// Writes one path, whatever it holds.
#[track_caller]
pub(crate) fn put(repo: &Deployments, path: &str, text: &str) -> Written {
    let held = repo.blob_at(path).expect("readable");
    let written = repo.write(&batch(vec![edit(path, held.as_ref(), Some(text))]));
    written.expect("written")
}

/// What came of a write, in a line.
pub(crate) fn written_text(written: &Written) -> String {
    let done: Vec<&str> = written.done.iter().map(|(path, _)| path.as_str()).collect();
    let conflicts: Vec<&str> = written.conflicts.iter().map(|it| it.path.as_str()).collect();
    let commit = if written.revision.is_some() { "commit" } else { "nothing" };
    format!("{commit} done[{}] conflicts[{}]", done.join(" "), conflicts.join(" "))
}
